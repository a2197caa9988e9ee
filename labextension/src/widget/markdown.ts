/**
 * Renders Markdown where there is no Lab: the parser and the sanitiser are in the bundle.
 *
 * In Lab, `render/markdown.ts` does the same with Lab's own parser.
 */

import DOMPurify from 'dompurify';
import { Marked } from 'marked';

import type { TranslationBundle } from '@jupyterlab/translation';

import { removeMath, replaceMath } from '@jupyterlab/rendermime/lib/latex';

import { addCodeTools } from '../render/code_tools';
import { sanitizeHtml } from '../render/sanitize';
import { toPlainText } from '../render/format';
import { CodeTools } from '../render/code_types';

const parser = new Marked({ gfm: true, async: false });

/** Draws the formulas in an element. In Lab and Voilà it is Lab's own; elsewhere there may be none. */
export interface Typesetter {
  typeset(host: HTMLElement): void;
}

/**
 * Return safe HTML, with formulas as they are written. Two sanitisers run one after the other, so that a gap in one of them
 * does no harm.
 */
export function renderHtml(text: string, remote: (alt: string) => string): string {
  const { text: prose, math } = removeMath(toPlainText(text));
  const html = replaceMath(parser.parse(prose) as string, math);
  return sanitizeHtml(DOMPurify.sanitize(html), remote);
}

export function createMarkdownRenderer(
  code: CodeTools,
  trans: TranslationBundle,
  typesetter?: Typesetter
): (host: HTMLElement, text: string) => Promise<void> {
  const remote = (alt: string): string => trans.__('Image, not loaded: %1', alt || trans.__('untitled'));
  return (host, text) => {
    try {
      host.innerHTML = renderHtml(text, remote);
      addCodeTools(host, code, trans);
      typesetter?.typeset(host);
    } catch (error) {
      console.warn('ECA: Markdown could not be rendered', error);
      host.textContent = text;
    }
    return Promise.resolve();
  };
}
