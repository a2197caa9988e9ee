/**
 * Renders Markdown into an element with Lab's own parser, highlighter, sanitiser and typesetter.
 *
 * This module knows no chat. The widget may run without Lab, so it has its own renderer in `widget/markdown.ts`.
 */

import { IRenderMimeRegistry, renderMarkdown } from '@jupyterlab/rendermime';
import { ITranslator } from '@jupyterlab/translation';

import { addCodeTools } from './code_tools';
import { addDiagramButtons, disableDiagrams } from './diagrams';
import { sanitizeHtml } from './sanitize';
import { toPlainMarkdown } from './format';
import { CodeTools } from './code_tool_types';

/** Renders a text into the element `host`. Resolves when that is done, or when an earlier call will do it. */
type RenderMarkdown = (host: HTMLElement, text: string) => Promise<void>;

/**
 * Return a function that renders Markdown into an element. The parser may need longer for an older, shorter text than
 * for the text that follows it. So only one text at a time is rendered into an element, and the newest text last.
 * `codeTools` has the functions that the buttons beside blocks of code call.
 */
export function createMarkdownRenderer(
  rendermime: IRenderMimeRegistry,
  codeTools: CodeTools,
  translator: ITranslator
): RenderMarkdown {
  const trans = translator.load('jupyter_eca');
  /** The newest text of each element that is not rendered yet. */
  const waitingTexts = new WeakMap<HTMLElement, string>();
  /** The elements into which a text is being rendered. */
  const busyElements = new WeakSet<HTMLElement>();
  const sanitizer = {
    sanitize: (html: string) =>
      sanitizeHtml(rendermime.sanitizer.sanitize(html), alt =>
        trans.__('Image, not loaded: %1', alt || trans.__('untitled'))
      )
  };
  const parser = rendermime.markdownParser;
  const plainParser = parser === null ? null : disableDiagrams(parser);
  const renderOnce: RenderMarkdown = async (host, source) => {
    await renderMarkdown({
      host,
      source: toPlainMarkdown(source),
      trusted: false,
      resolver: null,
      linkHandler: null,
      shouldTypeset: true,
      latexTypesetter: rendermime.latexTypesetter,
      markdownParser: plainParser,
      translator,
      sanitizer
    });
    addCodeTools(host, codeTools, trans);
    if (parser !== null) {
      addDiagramButtons(host, parser, trans);
    }
  };
  return async (host, text) => {
    waitingTexts.set(host, text);
    if (busyElements.has(host)) {
      return;
    }
    busyElements.add(host);
    try {
      for (let nextText = waitingTexts.get(host); nextText !== undefined; nextText = waitingTexts.get(host)) {
        waitingTexts.delete(host);
        await renderOnce(host, nextText);
      }
    } catch (error) {
      console.warn('ECA: Markdown could not be rendered', error);
      host.textContent = text;
    } finally {
      busyElements.delete(host);
    }
  };
}
