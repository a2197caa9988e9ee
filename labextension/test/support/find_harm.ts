/**
 * Defines `window.findHarm` in a page of a browser, for `tests/e2e/browser/test_markdown_fuzz.py`. It renders a Markdown
 * text into the page as a widget does, and by each of the two sanitisers alone, and looks for what could run or load
 * anything.
 */

import DOMPurify from 'dompurify';
import { Marked } from 'marked';

import { sanitizeHtml } from '../../src/render/sanitize';
import { renderHtml } from '../../src/widget/markdown';

const ACTIVE = 'script,iframe,object,embed,form,base,link,meta,style,svg,math,template,video,audio,button';
const ATTRIBUTE = /^(on|style$|srcdoc|formaction|action|background|srcset|ping)/i;
const ADDRESS = /^(href|src|xlink:href)$/i;
const SCRIPT = /^\s*(java|vb)script:/i;

const parser = new Marked({ gfm: true, async: false });
const host = document.body.appendChild(document.createElement('div'));
const describe = (alt: string): string => `Image: ${alt}`;

/** Return the first element or attribute that could do harm. The library keeps some that our sanitiser removes. */
function findElement(isOurs: boolean): string {
  for (const element of host.querySelectorAll('*')) {
    if (isOurs && element.matches(ACTIVE)) {
      return element.outerHTML;
    }
    for (const { name, value } of element.attributes) {
      // On other elements these attributes have no meaning.
      const isScript = ADDRESS.test(name) && SCRIPT.test(value) && element.matches('a,area,img');
      const isLoaded = name === 'src' && !value.startsWith('data:image/') && element.matches('img,input');
      if (isScript || (isOurs && (ATTRIBUTE.test(name) || isLoaded))) {
        return element.outerHTML;
      }
    }
  }
  return '';
}

/** Return what is wrong with the HTML that is made of a text; empty for nothing. */
function findHarm(text: string): string {
  try {
    return findHarmIn(text, parser.parse(text) as string);
  } catch (error) {
    // A thousand quotes in each other are too deep for the parser. The renderer then shows the text as it is.
    return error instanceof RangeError ? '' : String(error);
  }
}

/** See `findHarm`. `html` is what the parser alone makes of the text. */
function findHarmIn(text: string, html: string): string {
  const made = {
    widget: renderHtml(text, describe),
    'our sanitiser': sanitizeHtml(html, describe),
    'the sanitiser of the library': DOMPurify.sanitize(html)
  };
  for (const [name, safe] of Object.entries(made)) {
    host.innerHTML = safe;
    const found = findElement(name !== 'the sanitiser of the library');
    host.textContent = '';
    if (found !== '' || 'hasRun' in window) {
      return `${name}: ${found === '' ? 'a script ran' : found}`;
    }
  }
  return '';
}

Object.assign(window, { findHarm });
