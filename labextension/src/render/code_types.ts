/**
 * What can be done with a block of code, wherever it is shown.
 *
 * Knows no element: `code_tools.ts` draws the buttons, and each front (panel, widget) brings the functions.
 */

export interface CodeTools {
  readonly copy: (text: string) => Promise<void>;
  /** Undefined where there is no notebook to put code into. */
  readonly place: CodePlace | undefined;
}

/** The active cell of a notebook, as the place for a block of code. */
export interface CodePlace {
  readonly insertBelow: (code: string) => void;
  /** Runs the code in a new cell, so that the user sees what ran. */
  readonly runBelow: (code: string) => void;
  readonly replaceCell: (code: string) => void;
}
