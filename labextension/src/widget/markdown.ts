/**
 * Renders Markdown in a widget. The parser and the sanitiser are in the bundle, because the page may have no Lab.
 *
 * In the panel of Lab, `render/markdown.ts` does the same with Lab's own parser.
 */

import DOMPurify from 'dompurify';
import { Marked } from 'marked';

import type { TranslationBundle } from '@jupyterlab/translation';

import { removeMath, replaceMath } from '@jupyterlab/rendermime/lib/latex';

import { addCodeTools } from '../render/code_tools';
import { sanitizeHtml } from '../render/sanitize';
import { toPlainMarkdown } from '../render/format';
import { CodeTools } from '../render/code_tool_types';

/** Turns Markdown with GitHub's extensions (`gfm`), such as tables, into HTML. */
const parser = new Marked({ gfm: true, async: false });

/** Draws the formulas in an element. Lab and Voilà provide it, other front ends may not. */
export interface Typesetter {
  typeset(host: HTMLElement): void;
}

/**
 * Return safe HTML, in which formulas are still text. Two sanitisers run one after the other, so that a gap in one of
 * them does no harm. `describeImage` returns the text of the link that replaces a remote image, for the text that
 * describes the image.
 */
export function renderHtml(text: string, describeImage: (alt: string) => string): string {
  // Formulas are removed before the text is parsed, and put back afterwards: the parser would read `_` and `*` in them
  // as Markdown.
  const { text: prose, math } = removeMath(toPlainMarkdown(text));
  const html = replaceMath(parser.parse(prose) as string, math);
  return sanitizeHtml(DOMPurify.sanitize(html), describeImage);
}

/**
 * Return a function that renders Markdown into an element. It renders at once, but returns a promise, because the
 * function of `render/markdown.ts` does.
 */
export function createMarkdownRenderer(
  codeTools: CodeTools,
  trans: TranslationBundle,
  typesetter?: Typesetter
): (host: HTMLElement, text: string) => Promise<void> {
  const describeImage = (alt: string): string => trans.__('Image, not loaded: %1', alt || trans.__('untitled'));
  return (host, text) => {
    try {
      host.innerHTML = renderHtml(text, describeImage);
      addCodeTools(host, codeTools, trans);
      typesetter?.typeset(host);
    } catch (error) {
      console.warn('ECA: Markdown could not be rendered', error);
      host.textContent = text;
    }
    return Promise.resolve();
  };
}
