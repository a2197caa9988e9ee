/**
 * The text of a chat stands in an output of its own behind the panel, for readers of the saved notebook. Where the
 * panel is alive the same words need not be read twice: Lab's and Notebook's outputs are hidden, other front ends'
 * cannot be found from here, and the kernel folds the text there.
 */

/** What Lab and Notebook wrap each output in. */
const OUTPUT = '.jp-OutputArea-child';
const HIDDEN = 'eca-mod-live';

/** `told` hears once whether it could be hidden; the result shows it again. */
export function hideRecord(el: HTMLElement, onResult: (hidden: boolean) => void): () => void {
  let record: Element | null = null;
  const findRecord = (): boolean => {
    record = el.closest(OUTPUT)?.nextElementSibling ?? null;
    record?.classList.add(HIDDEN);
    return record !== null;
  };
  // The output is put into the page after it is drawn, and the record comes after it.
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
