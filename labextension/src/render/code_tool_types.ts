/**
 * Defines the types of the functions that the buttons beside a block of code call.
 *
 * This module draws nothing: `code_tools.ts` draws the buttons, and the panel and the widget provide the functions.
 */

/** What the buttons of a block of code use. */
export interface CodeTools {
  /** Where code can be inserted; undefined when there is no notebook. */
  readonly target: CodeTarget | undefined;
}

/** The active cell of a notebook, at which a block of code can be inserted. */
export interface CodeTarget {
  /** Inserts the code in a new cell, without running it. */
  readonly insertBelow: (code: string) => void;
  /** Runs the code in a new cell, so that the user sees what ran. */
  readonly runBelow: (code: string) => void;
  /** Replaces the source of the active cell. */
  readonly replaceCell: (code: string) => void;
}
