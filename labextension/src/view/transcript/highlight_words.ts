/**
 * Highlights words in the text of an element, without changing the element: the browser draws the ranges of the words.
 * So React does not notice it, and the text can still be selected and copied.
 */

/** The name of the highlight in the style sheet. */
const NAME = 'eca-found';

/**
 * Highlight all occurrences of words, which are in lower case, in the text of an element, also after its text was drawn
 * again. The returned function ends that. A browser without such highlights shows none.
 */
export function highlightWords(element: HTMLElement, words: readonly string[]): () => void {
  const draw = (): void => {
    CSS.highlights.set(NAME, new Highlight(...findWords(element, words)));
  };
  // Markdown is drawn a little later.
  const observer = new MutationObserver(draw);
  if ('highlights' in CSS) {
    draw();
    observer.observe(element, { childList: true, subtree: true, characterData: true });
  }
  return () => {
    observer.disconnect();
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- the types know no older browser
    CSS.highlights?.delete(NAME);
  };
}

/** Return the ranges of all occurrences of the words. A word that goes over the end of an element is not found. */
function findWords(element: HTMLElement, words: readonly string[]): Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (walker.nextNode() !== null) {
    const node = walker.currentNode as Text;
    const text = node.data.toLowerCase();
    // The lower case of a few letters is longer than the letter. Then the offsets would be wrong.
    for (const word of text.length === node.length ? words : []) {
      for (let start = text.indexOf(word); start >= 0; start = text.indexOf(word, start + word.length)) {
        const range = new Range();
        range.setStart(node, start);
        range.setEnd(node, start + word.length);
        ranges.push(range);
      }
    }
  }
  return ranges;
}
