/**
 * Receives cells that are dragged from a notebook. Lab's drag and drop has events of its own, not those of HTML.
 *
 * What becomes of the cells is in `chat/pasted_cells.ts`.
 */

import type { Drag } from '@lumino/dragdrop';
import * as React from 'react';

import { CELLS, isCell, PastedCell } from '../../chat/pasted_cells';

const DRAGGED = 'eca-mod-dropping';

/** Call `take` with the cells that are dropped on the element. */
export function useCellDrop(element: React.RefObject<HTMLElement>, take: (cells: readonly PastedCell[]) => void): void {
  const latest = React.useRef(take);
  latest.current = take;
  React.useEffect(() => {
    const node = element.current;
    const over = (event: Event): void => {
      const drag = event as Drag.Event;
      if (drag.mimeData.hasData(CELLS)) {
        event.preventDefault();
        event.stopPropagation();
        drag.dropAction = 'copy';
        node?.classList.add(DRAGGED);
      }
    };
    const leave = (): void => {
      node?.classList.remove(DRAGGED);
    };
    const drop = (event: Event): void => {
      leave();
      const drag = event as Drag.Event;
      const cells: unknown = drag.mimeData.getData(CELLS);
      if (Array.isArray(cells)) {
        event.preventDefault();
        event.stopPropagation();
        drag.dropAction = 'copy';
        latest.current(cells.filter(isCell));
      }
    };
    const listeners = { 'lm-dragenter': over, 'lm-dragover': over, 'lm-dragleave': leave, 'lm-drop': drop };
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
