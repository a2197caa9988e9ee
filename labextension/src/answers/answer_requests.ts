/**
 * Remembers, also after a reload of the page, which cell waits for the answer to a request. A request has the id of the
 * message with which Lab has asked the kernel to run the cell.
 *
 * The ids of requests are unique, so the values of several servers do not meet. A browser may forbid storage. Then a
 * reload ends what is known.
 */

/** Return the name of the value in the storage of the tab. */
const getKey = (request: string): string => `jupyter-eca answer ${request}`;

/** Return the id of the cell that waits; null when the answer has ended, or when the request is no question. */
export function getAnswerCell(request: string): string | null {
  try {
    return window.sessionStorage.getItem(getKey(request));
  } catch {
    return null;
  }
}

/** Store the id of the cell that waits; null when the answer has ended. */
export function setAnswerCell(request: string, cell: string | null): void {
  try {
    if (cell === null) {
      window.sessionStorage.removeItem(getKey(request));
    } else {
      window.sessionStorage.setItem(getKey(request), cell);
    }
  } catch {
    // After a reload the rest of the answer is not shown in the cell.
  }
}
