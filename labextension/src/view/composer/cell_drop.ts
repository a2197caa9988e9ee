/**
 * Receives cells that the user drags from a notebook. Lab's drag and drop uses events of its own, not those of HTML.
 *
 * `chat/pasted_cells.ts` turns the cells into contexts.
 */

import type { Drag } from '@lumino/dragdrop';
import * as React from 'react';

import { CELLS, isCell, PastedCell } from '../../chat/pasted_cells';

/** The CSS class of the element while cells are dragged over it. */
const DRAGGED_OVER = 'eca-mod-dropping';

/** Call `onDrop` with the cells that are dropped on the element. */
export function useCellDrop(
  element: React.RefObject<HTMLElement>,
  onDrop: (cells: readonly PastedCell[]) => void
): void {
  const latest = React.useRef(onDrop);
  latest.current = onDrop;
  React.useEffect(() => {
    const node = element.current;
    const handleOver = (event: Event): void => {
      const drag = event as Drag.Event;
      if (drag.mimeData.hasData(CELLS)) {
        event.preventDefault();
        event.stopPropagation();
        drag.dropAction = 'copy';
        node?.classList.add(DRAGGED_OVER);
      }
    };
    const handleLeave = (): void => {
      node?.classList.remove(DRAGGED_OVER);
    };
    const handleDrop = (event: Event): void => {
      handleLeave();
      const drag = event as Drag.Event;
      const cells: unknown = drag.mimeData.getData(CELLS);
      if (Array.isArray(cells)) {
        event.preventDefault();
        event.stopPropagation();
        drag.dropAction = 'copy';
        latest.current(cells.filter(isCell));
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
