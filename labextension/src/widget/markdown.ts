/**
 * Renders Markdown where there is no Lab: the parser and the sanitiser are in the bundle.
 *
 * In Lab, `render/markdown.ts` does the same with Lab's own parser.
 */

import DOMPurify from 'dompurify';
import { Marked } from 'marked';

import type { TranslationBundle } from '@jupyterlab/translation';

import { addCodeTools } from '../render/code_tools';
import { sanitizeHtml } from '../render/sanitize';
import { toPlainText } from '../render/format';
import { CodeTools } from '../render/code_types';

const parser = new Marked({ gfm: true, async: false });

/** Return safe HTML. Two sanitisers run one after the other, so that a gap in one of them does no harm. */
export function renderHtml(text: string, remote: (alt: string) => string): string {
  return sanitizeHtml(DOMPurify.sanitize(parser.parse(toPlainText(text)) as string), remote);
}

export function createMarkdownRenderer(
  code: CodeTools,
  trans: TranslationBundle
): (host: HTMLElement, text: string) => Promise<void> {
  const remote = (alt: string): string => trans.__('Image, not loaded: %1', alt || trans.__('untitled'));
  return (host, text) => {
    try {
      host.innerHTML = renderHtml(text, remote);
      addCodeTools(host, code, trans);
    } catch (error) {
      console.warn('ECA: Markdown could not be rendered', error);
      host.textContent = text;
    }
    return Promise.resolve();
  };
}
