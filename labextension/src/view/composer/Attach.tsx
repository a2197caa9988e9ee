/**
 * Draws the button that attaches files to a message, and its menu: files of the server, or files of the user's
 * computer.
 *
 * This module knows no server: `Composer.tsx` passes the functions that receive the files.
 */

import * as React from 'react';

import { createElement } from '../common/element';
import { useEnv } from '../common/env';
import { IconButton } from '../common/Icon';
import { usePopup } from '../common/popup';

interface Props {
  /** Lets the user choose files of the server; undefined where that is not possible. */
  readonly onChoose: (() => void) | undefined;
  /** Called with files of the user's computer. */
  readonly onFiles: (files: readonly File[]) => void;
  /** The types of files that can be attached from the user's computer; undefined for all. */
  readonly accept: string | undefined;
}

/** The button and its menu. Without `onChoose` there is no menu: the button opens the dialog of the browser. */
export function Attach({ onChoose, onFiles, accept }: Props): React.ReactElement {
  const { trans } = useEnv();
  // The first item of the menu gets the focus when it opens.
  const { open, setOpen, close, frameProps } = usePopup('[role=menuitem]');
  const input = React.useRef<HTMLInputElement>(null);
  /** Return the click handler of a menu item, which closes the menu and then calls `action`. */
  const createItemHandler = (action: () => void) => () => {
    close();
    action();
  };
  const upload = (): void => {
    input.current?.click();
  };
  return (
    <div
      {...frameProps}
      className="eca-Attach"
      onKeyDown={event => {
        frameProps.onKeyDown(event);
        if (open && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
          event.preventDefault();
          // The menu has two items, so both keys go to the other one.
          const items = [...event.currentTarget.querySelectorAll<HTMLElement>('[role=menuitem]')];
          items.find(item => item !== document.activeElement)?.focus();
        }
      }}
    >
      <IconButton
        icon="attach"
        label={trans.__('Attach files or images')}
        onClick={() => {
          if (onChoose === undefined) {
            upload();
          } else {
            setOpen(!open);
          }
        }}
      />
      {open && onChoose !== undefined && (
        <div className="eca-Attach-menu" role="menu" aria-label={trans.__('Attach files or images')}>
          <button type="button" role="menuitem" tabIndex={-1} onClick={createItemHandler(onChoose)}>
            {trans.__('Files in Jupyter…')}
          </button>
          <button type="button" role="menuitem" tabIndex={-1} onClick={createItemHandler(upload)}>
            {trans.__('Upload from this computer…')}
          </button>
        </div>
      )}
      <input
        ref={input}
        type="file"
        multiple
        hidden
        accept={accept}
        aria-label={trans.__('Upload from this computer')}
        onChange={event => {
          onFiles([...(event.target.files ?? [])]);
          // Otherwise the same file could not be chosen twice.
          event.target.value = '';
        }}
      />
    </div>
  );
}
