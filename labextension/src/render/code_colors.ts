/**
 * Sets the colours of code in the panel: those of Lab's editor, mixed with the colour of text until their contrast is
 * 4.5:1.
 */

/** The kinds of tokens for which Lab's editor has a colour, in the names of Lab's CSS variables. */
const TOKENS =
  'keyword atom number def variable variable-2 variable-3 punctuation property operator comment string string-2 meta qualifier builtin bracket tag attribute header quote link error hr';

/** Add the colours to the page. A second call changes nothing. */
export function addCodeColors(): void {
  const id = 'eca-code-colors';
  if (document.getElementById(id) !== null) {
    return;
  }
  const style = document.createElement('style');
  style.id = id;
  const kinds = TOKENS.split(' ');
  const nameLabColor = (kind: string): string => `--jp-mirror-editor-${kind}-color`;
  // A variable cannot be mixed from itself. So the mixed colours have other names in the block, and Lab's names in it.
  const mixed = kinds.map(
    kind => `--eca-code-${kind}:color-mix(in srgb,var(${nameLabColor(kind)}) 65%,var(--jp-ui-font-color0))`
  );
  const renamed = kinds.map(kind => `${nameLabColor(kind)}:var(--eca-code-${kind})`);
  style.textContent = `.eca-Code{${mixed.join(';')}}.eca-Code>pre{${renamed.join(';')}}`;
  document.head.append(style);
}
