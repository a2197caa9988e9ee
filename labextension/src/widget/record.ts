/**
 * Hides the record of a chat while the panel is shown, so that the same text is not shown twice.
 *
 * The record is the text of the chat, for readers of the saved notebook. It is an output of its own, after the output
 * of the panel. It can be hidden in Lab and Notebook. In other front ends the outputs cannot be found from here, so
 * there the kernel folds the text. This module knows no chat: the kernel writes the record.
 */

/** Selects the element in which Lab and Notebook wrap each output. */
const OUTPUT_SELECTOR = '.jp-OutputArea-child';
/** The CSS class that is set on the panel's output. It hides the next output, even when Lab draws that output again. */
const LIVE_PANEL = 'eca-mod-live';

/**
 * Hide the record. `onResult` is called once, with `true` if the record was found. The returned function shows the
 * record again.
 */
export function hideRecord(el: HTMLElement, onResult: (hidden: boolean) => void): () => void {
  let panel: Element | null = null;
  const findRecord = (): boolean => {
    panel = el.closest(OUTPUT_SELECTOR);
    panel?.classList.add(LIVE_PANEL);
    return Boolean(panel?.nextElementSibling);
  };
  // Lab draws this output before it puts it into the page, and adds the record after that. So several attempts are
  // needed.
  let tries = 0;
  const timer = setInterval(() => {
    tries += 1;
    const found = findRecord();
    if (found || tries === MAX_TRIES) {
      clearInterval(timer);
      onResult(found);
    }
  }, RETRY_PAUSE_MS);
  return () => {
    clearInterval(timer);
    panel?.classList.remove(LIVE_PANEL);
  };
}

/** The pause between two attempts to find the record, in milliseconds. */
const RETRY_PAUSE_MS = 100;
/** The most attempts: two seconds are enough for a slow page. */
const MAX_TRIES = 20;
