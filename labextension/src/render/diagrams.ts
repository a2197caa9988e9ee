/**
 * Shows a Mermaid diagram as the code that a model wrote, and draws it only when the user presses a button. Mermaid
 * is a language for diagrams: a block of Markdown code with the language `mermaid` is drawn as a picture.
 *
 * The reason is security. Lab's Markdown parser draws a Mermaid block as soon as it finds it, in the live page and
 * before any sanitiser sees the drawing. The source may contain pictures and styles from any address (`<img src=…>` in
 * a label, `img:` of a shape, `url(…)`), so drawing it would send what the model knows to that address.
 *
 * This module knows no chat: `markdown.ts` calls it for the panel, and `answers/code_blocks.ts` for answers in cells.
 */

import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { TranslationBundle } from '@jupyterlab/translation';

/** Turns Markdown into HTML. */
type Parser = NonNullable<IRenderMimeRegistry['markdownParser']>;

/**
 * The character that splits the word `mermaid`. Unicode reserves it as a noncharacter, so no text of a model needs it.
 */
const SPLIT = '\uFDD0';

/**
 * Matches parts of a source that can make the drawing load or open something: addresses, functions of CSS that load,
 * HTML, and other ways to write these (entities of HTML and of Mermaid, escapes of CSS). `@{` begins the properties of
 * a shape, one of which is `img:`. `ﬂ°` is how Mermaid writes an entity internally, while it parses.
 */
const LOADS =
  /\/\/|\b(?:https?|wss?|ftp|blob|javascript)\s*:|data:|(?:url|src|image|image-set|cross-fade)\s*\(|@import|@\{|<\s*(?!\/?(?:br|b|i|em|strong|sub|sup)\b)[a-z!/]|<\/?\w+[^>]*=|&#|#\w+;|ﬂ°|\\/i;

/** Return whether the source shows that drawing the diagram may load something. */
export function mayLoad(source: string): boolean {
  return LOADS.test(source);
}

/**
 * Return a parser that draws no diagram. It puts the character `SPLIT` into the word `mermaid` before `parser` reads
 * the text, and removes it from the HTML. It does so everywhere in the text, and not only where a block of code begins,
 * because parsers disagree about where that is.
 */
export function disableDiagrams(parser: Parser): Parser {
  return {
    render: async source => {
      // In the addresses of links, the parser writes the character in percent-encoding. That is removed, too.
      const splitSource = source.replaceAll(SPLIT, '').replaceAll(/(m)(ermaid)/gi, `$1${SPLIT}$2`);
      return (await parser.render(splitSource)).replaceAll(SPLIT, '').replaceAll(encodeURIComponent(SPLIT), '');
    }
  };
}

/**
 * Add a button to each diagram in a rendered element. The button draws the diagram. `parser` must be Lab's own parser,
 * which draws diagrams, and not one that `disableDiagrams` returns. `selector` is the CSS selector of the diagrams.
 */
export function addDiagramButtons(
  host: HTMLElement,
  parser: Parser,
  trans: TranslationBundle,
  selector = 'pre > code.language-mermaid'
): void {
  for (const code of host.querySelectorAll<HTMLElement>(selector)) {
    addButton(code, parser, trans);
  }
}

/**
 * Add the button to one diagram. The first press draws the diagram, and later ones switch between the picture and the
 * source. If the drawing fails, the next press tries it again.
 */
function addButton(code: HTMLElement, parser: Parser, trans: TranslationBundle): void {
  // The element `<pre>` around the source.
  const frame = code.parentElement;
  const source = code.textContent;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'eca-Link eca-Diagram-button';
  button.textContent = mayLoad(source)
    ? trans.__('Draw this diagram (it may load data from the web)')
    : trans.__('Draw this diagram');
  let picture: HTMLImageElement | undefined;
  const toggle = async (): Promise<void> => {
    button.disabled = true;
    picture ??= await drawDiagram(source, parser);
    button.disabled = false;
    if (picture === undefined) {
      button.textContent = trans.__('This diagram has an error and cannot be drawn. Try again');
    } else if (frame !== null) {
      frame.hidden = !frame.hidden;
      picture.hidden = !frame.hidden;
      frame.before(picture);
      button.textContent = frame.hidden ? trans.__('Show the source') : trans.__('Show the diagram');
    }
  };
  button.addEventListener('click', () => void toggle());
  frame?.after(button);
}

/**
 * Return the diagram as an image element; undefined when the source has an error. The parser may load data while it
 * draws. The finished image loads nothing, because a browser loads no addresses that are in the SVG of an `<img>`.
 */
async function drawDiagram(source: string, parser: Parser): Promise<HTMLImageElement | undefined> {
  // The fence around the source has more backticks than any run of backticks in the source, so none of them ends it.
  const ticks = (source.match(/`+/g) ?? []).map(({ length }) => length + 1);
  const fence = '`'.repeat(Math.max(3, ...ticks));
  const html = await parser.render(`${fence}mermaid\n${source}\n${fence}`);
  const drawn = new DOMParser().parseFromString(html, 'text/html').querySelector('img');
  const address = drawn?.getAttribute('src') ?? '';
  if (!address.startsWith('data:image/svg+xml')) {
    return undefined;
  }
  const picture = document.createElement('img');
  picture.className = 'eca-Diagram';
  picture.alt = drawn?.getAttribute('alt') ?? '';
  // Mermaid sets this width. Without it, the browser would make the picture as wide as the page allows.
  picture.setAttribute('width', drawn?.getAttribute('width') ?? '');
  picture.src = address;
  return picture;
}
