/** Markdown into an element, by Lab's own parser, highlighter, sanitiser and typesetter. */

import { IRenderMimeRegistry, renderMarkdown } from '@jupyterlab/rendermime';
import { ITranslator } from '@jupyterlab/translation';

import { equipAll } from './code_tools';
import { inert } from './sanitize';
import { plain } from './format';
import { CodeTools } from './code_types';

type Render = (host: HTMLElement, text: string) => Promise<void>;

/** One rendering of an element at a time, the newest text last: a parser may take longer over less. */
export function markdownInto(rendermime: IRenderMimeRegistry, code: CodeTools, translator: ITranslator): Render {
  const trans = translator.load('jupyter_eca');
  const wanted = new WeakMap<HTMLElement, string>();
  const busy = new WeakSet<HTMLElement>();
  const sanitizer = {
    sanitize: (dirty: string) =>
      inert(rendermime.sanitizer.sanitize(dirty), alt => trans.__('Image, not loaded: %1', alt || trans.__('untitled')))
  };
  const once: Render = async (host, source) => {
    await renderMarkdown({
      host,
      source: plain(source),
      trusted: false,
      resolver: null,
      linkHandler: null,
      shouldTypeset: true,
      latexTypesetter: rendermime.latexTypesetter,
      markdownParser: rendermime.markdownParser,
      translator,
      sanitizer
    });
    equipAll(host, code, trans);
  };
  return async (host, text) => {
    wanted.set(host, text);
    if (busy.has(host)) {
      return;
    }
    busy.add(host);
    try {
      for (let now = wanted.get(host); now !== undefined; now = wanted.get(host)) {
        wanted.delete(host);
        await once(host, now);
      }
    } catch (error) {
      console.warn('ECA: Markdown could not be rendered', error);
      host.textContent = text;
    } finally {
      busy.delete(host);
    }
  };
}
