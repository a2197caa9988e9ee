/**
 * Hides the record of a chat while the panel is alive, so that the same text is not shown twice.
 *
 * The record is the text of the chat in an output of its own after the panel, for readers of the saved notebook. It can be
 * hidden in Lab and Notebook. Outputs of other front ends cannot be found from here; there the kernel folds the text.
 * Knows no chat: the kernel writes the record.
 */

/** The element in which Lab and Notebook wrap each output. */
const OUTPUT = '.jp-OutputArea-child';
const HIDDEN = 'eca-mod-live';

/**
 * Hide the record. `onResult` is called once with whether that worked. The returned function shows the record again.
 */
export function hideRecord(el: HTMLElement, onResult: (hidden: boolean) => void): () => void {
  let record: Element | null = null;
  const findRecord = (): boolean => {
    record = el.closest(OUTPUT)?.nextElementSibling ?? null;
    record?.classList.add(HIDDEN);
    return record !== null;
  };
  // This output is put into the page only after it is drawn, and the record follows later.
  let tries = 0;
  const timer = setInterval(() => {
    tries += 1;
    const found = findRecord();
    if (found || tries === TRIES) {
      clearInterval(timer);
      onResult(found);
    }
  }, EVERY_MS);
  return () => {
    clearInterval(timer);
    record?.classList.remove(HIDDEN);
  };
}

const EVERY_MS = 100;
const TRIES = 20;
