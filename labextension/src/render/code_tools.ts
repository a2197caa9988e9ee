/**
 * Draws a bar with buttons above each block of code in an answer: copy, insert, run, replace.
 *
 * This module knows no notebook: `CodeTools` (in `code_tool_types.ts`) has the functions that all buttons except *Copy*
 * call.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import { ignoreRepeatedClicks } from './repeated_clicks';
import type { CodeTools } from './code_tool_types';
import { copyText, describeCopyFailure } from './copy_text';

/**
 * Add buttons to the blocks of code in a rendered element. `codeTools` has the functions that the buttons call, and
 * `selector` is the CSS selector of the blocks.
 */
export function addCodeTools(
  host: HTMLElement,
  codeTools: CodeTools,
  trans: TranslationBundle,
  selector = 'pre > code'
): void {
  for (const block of host.querySelectorAll<HTMLElement>(selector)) {
    addTools(block, codeTools, trans);
  }
}

/** Finds the language of a block of code in its CSS classes. */
const LANGUAGE = /(?:^| )language-(\S+)/;
/** Matches languages whose code a kernel cannot run. */
const NOT_RUN = /^(?:(?:ba|z|fi)?sh|shell|console|text|txt|diff|json|ya?ml|toml|xml|html|css|mermaid)$/i;

/** Put one block of code (`<pre><code>`) into a new element, together with its buttons. */
function addTools(block: HTMLElement, codeTools: CodeTools, trans: TranslationBundle): void {
  const frame = block.parentElement;
  if (frame === null) {
    return;
  }
  const readCode = (): string => block.textContent.replace(/\n$/, '');
  const failure = document.createElement('div');
  failure.className = 'eca-Code-failure';
  failure.setAttribute('role', 'alert');
  /** Show a sentence if the code could not be copied, and remove it otherwise. */
  const showFailure = (copied: boolean): void => {
    failure.textContent = copied ? '' : describeCopyFailure(trans);
  };
  const language = LANGUAGE.exec(block.className)?.[1] ?? '';
  const languageName = document.createElement('span');
  languageName.textContent = language;
  const tools = document.createElement('div');
  tools.className = 'eca-Code-tools';
  tools.append(
    languageName,
    createButton('copy', trans.__('Copy'), () => void copyText(readCode()).then(showFailure)),
    createButton('insert', trans.__('Insert below the active cell'), () => codeTools.target?.insertBelow(readCode())),
    ...(NOT_RUN.test(language)
      ? []
      : [createButton('run', trans.__('Run in a new cell below'), () => codeTools.target?.runBelow(readCode()))]),
    createButton('replace', trans.__('Replace the active cell'), () => codeTools.target?.replaceCell(readCode()))
  );
  const wrapper = document.createElement('div');
  wrapper.className = 'eca-Code';
  ignoreRepeatedClicks(wrapper);
  frame.replaceWith(wrapper);
  // Long lines can then be scrolled with the keyboard.
  frame.tabIndex = 0;
  wrapper.append(tools, frame, failure);
}

/** Create a button. `style/code_tools.css` draws its icon, by the name `icon`. */
function createButton(icon: string, label: string, act: () => void): HTMLButtonElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = `eca-Code-tool eca-mod-${icon}`;
  button.title = label;
  button.setAttribute('aria-label', label);
  button.addEventListener('click', act);
  return button;
}
