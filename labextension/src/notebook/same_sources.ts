/**
 * Compares the sources of the cells of two notebooks, without their outputs and metadata. Pure.
 */

/** A notebook of nbformat, as far as it is used here. The source of a cell is a text, or its lines. */
interface NotebookSources {
  readonly cells?: readonly { readonly cell_type: string; readonly source: string | readonly string[] }[];
}

/** Return whether two files are notebooks whose cells have the same types and sources. `other` may be unknown. */
export function haveSameSources(file: string, other: string | undefined): boolean {
  try {
    const sources = listSources(file);
    return other !== undefined && sources !== '[]' && sources === listSources(other);
  } catch {
    // At least one of the files is no notebook.
    return false;
  }
}

/** Return the types and sources of the cells of a notebook as JSON. Throws: SyntaxError. */
function listSources(file: string): string {
  const { cells = [] } = JSON.parse(file) as NotebookSources;
  return JSON.stringify(cells.map(({ cell_type: type, source }) => [type, [source].flat().join('')]));
}
