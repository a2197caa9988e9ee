/**
 * Receives cells that the user drags from a notebook, and files that the user drags from Lab's list of files. Lab's
 * drag and drop uses events of its own, not those of HTML.
 *
 * `chat/pasted_cells.ts` turns the cells into contexts.
 */

import type { Drag } from '@lumino/dragdrop';
import * as React from 'react';

import { CELLS_MIME_TYPE, isCell, PastedCell } from '../../chat/pasted_cells';

/** The MIME type that Lab gives files that are dragged. The data are the paths of the files. */
const FILES_MIME_TYPE = 'application/x-jupyter-icontents';
/** The CSS class of the element while cells or files are dragged over it. */
const DRAGGED_OVER = 'eca-mod-dropping';

/** The functions that receive the cells and files that are dropped on the element. */
interface DropTarget {
  /** Called with cells. */
  readonly onCells: (cells: readonly PastedCell[]) => void;
  /** Called with the paths of files; undefined where files cannot be attached. */
  readonly onPaths: ((paths: readonly string[]) => void) | undefined;
}

/** Call `target` with the cells and files that are dropped on the element. */
export function useLabDrop(element: React.RefObject<HTMLElement>, target: DropTarget): void {
  // The listeners read the target from here, so they are not added again at each render.
  const latest = React.useRef(target);
  latest.current = target;
  React.useEffect(() => {
    const node = element.current;
    const handleOver = (event: Event): void => {
      const drag = event as Drag.Event;
      const hasFiles = drag.mimeData.hasData(FILES_MIME_TYPE) && latest.current.onPaths !== undefined;
      if (drag.mimeData.hasData(CELLS_MIME_TYPE) || hasFiles) {
        event.preventDefault();
        event.stopPropagation();
        drag.dropAction = chooseAction(drag);
        node?.classList.add(DRAGGED_OVER);
      }
    };
    const handleLeave = (): void => {
      node?.classList.remove(DRAGGED_OVER);
    };
    const handleDrop = (event: Event): void => {
      handleLeave();
      const drag = event as Drag.Event;
      const cells: unknown = drag.mimeData.getData(CELLS_MIME_TYPE);
      const paths: unknown = drag.mimeData.getData(FILES_MIME_TYPE);
      if (!Array.isArray(cells) && !Array.isArray(paths)) {
        return;
      }
      event.preventDefault();
      event.stopPropagation();
      drag.dropAction = chooseAction(drag);
      if (Array.isArray(cells)) {
        latest.current.onCells(cells.filter(isCell));
      }
      if (Array.isArray(paths)) {
        latest.current.onPaths?.(paths.filter(path => typeof path === 'string'));
      }
    };
    const listeners = {
      'lm-dragenter': handleOver,
      'lm-dragover': handleOver,
      'lm-dragleave': handleLeave,
      'lm-drop': handleDrop
    };
    for (const [type, listener] of Object.entries(listeners)) {
      node?.addEventListener(type, listener);
    }
    return () => {
      for (const [type, listener] of Object.entries(listeners)) {
        node?.removeEventListener(type, listener);
      }
    };
  }, [element]);
}

/**
 * Return the action that the pointer shows during a drag. Cells are copied. For files, Lab allows only the action that
 * it proposes, which is to move them. Nothing is moved, because the receiver decides what happens with the files.
 */
function chooseAction(drag: Drag.Event): Drag.Event['dropAction'] {
  return drag.mimeData.hasData(CELLS_MIME_TYPE) ? 'copy' : drag.proposedAction;
}
