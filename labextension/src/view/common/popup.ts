/**
 * Keeps the state of a popup: a box that a button opens. The box closes when the user presses Escape, or when the focus
 * leaves it.
 *
 * This module draws nothing: `ContextMeter.tsx` and others draw the button and the box.
 */

import * as React from 'react';

/** A popup, as `usePopup` returns it. */
export interface Popup {
  /** Whether the box is open. */
  readonly open: boolean;
  /**
   * Opens the box, in which an element then gets the focus (see `usePopup`), or closes it and leaves the focus where it
   * is.
   */
  readonly setOpen: (open: boolean) => void;
  /** Closes the box, and focuses the button. */
  readonly close: () => void;
  /** The properties of the frame: the element that contains the button and the box. */
  readonly frameProps: {
    readonly ref: React.RefObject<HTMLDivElement>;
    readonly onBlur: (event: React.FocusEvent<HTMLElement>) => void;
    readonly onKeyDown: (event: React.KeyboardEvent<HTMLElement>) => void;
  };
}

/**
 * Return the state of a box, which is closed at first. `focusSelector` is the CSS selector of the element that gets the
 * focus when the box opens. The button that opens the box must be the first button in the frame.
 */
export function usePopup(focusSelector: string): Popup {
  const [open, setOpen] = React.useState(false);
  const ref = React.useRef<HTMLDivElement>(null);
  React.useEffect(() => {
    if (open) {
      ref.current?.querySelector<HTMLElement>(focusSelector)?.focus();
    }
  }, [open, focusSelector]);
  const close = (): void => {
    setOpen(false);
    ref.current?.querySelector('button')?.focus();
  };
  return {
    open,
    setOpen,
    close,
    frameProps: {
      ref,
      onBlur: event => {
        if (!event.currentTarget.contains(event.relatedTarget)) {
          setOpen(false);
        }
      },
      onKeyDown: event => {
        if (open && event.key === 'Escape') {
          event.stopPropagation();
          close();
        }
      }
    }
  };
}
