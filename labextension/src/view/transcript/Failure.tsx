/**
 * Shows why a turn failed: a red card with one sentence, the buttons that help, and the server's own words as details.
 *
 * This module knows no session: `FailureActions` has the functions that the buttons call. `remedies.ts` decides which
 * buttons are shown.
 */

import * as React from 'react';

import { FailureBlock } from '../../chat/blocks';
import { createElement } from '../common/element';
import { findSettingsSection, listRemedies, Remedy } from './remedies';
import { useEnv } from '../common/env';
import { Icon } from '../common/Icon';
import { Markdown } from '../common/Markdown';
import { describeFailure } from './failure_text';

/** The functions that the buttons call. A button without a function is not shown. */
export interface FailureActions {
  /** Sends the user's last message again; undefined while that is not possible. */
  readonly onAskAgain?: (() => void) | undefined;
  /** Lets the user choose another model; undefined where there is no list of models. */
  readonly onChooseModel?: (() => void) | undefined;
  /** Lets the user choose another agent. It is offered in place of another model where an outside agent answers. */
  readonly onChooseAgent?: (() => void) | undefined;
}

interface Props extends FailureActions {
  readonly block: FailureBlock;
}

/** Draws the card. */
export function Failure({ block, onAskAgain, onChooseModel, onChooseAgent }: Props): React.ReactElement {
  const { trans, openSettings } = useEnv();
  const { failure, text } = block;
  // For a failure of an unknown kind, only the server can say what happened.
  const [open, setOpen] = React.useState(failure.kind === 'other');
  const id = React.useId();
  const buttons: Readonly<Record<Remedy, readonly [label: string, act: (() => void) | undefined]>> = {
    retry: [trans.__('Try again'), onAskAgain],
    signIn: [
      trans.__('Sign in or paste a key'),
      openSettings &&
        (() => {
          openSettings('providers');
        })
    ],
    model:
      onChooseAgent === undefined
        ? [trans.__('Choose another model'), onChooseModel]
        : [trans.__('Choose another agent'), onChooseAgent],
    settings: [
      trans.__('Open settings'),
      openSettings &&
        (() => {
          openSettings(findSettingsSection(failure.kind));
        })
    ]
  };
  return (
    <div className="eca-Failure" role="group" aria-label={trans.__('Error')}>
      <p className="eca-Failure-line">
        <Icon name="alert" />
        <span>{describeFailure(failure, trans)}</span>
      </p>
      <div className="eca-Failure-buttons">
        {listRemedies(failure.kind).map(remedy => {
          const [label, act] = buttons[remedy];
          return (
            act !== undefined && (
              <button key={remedy} type="button" className="eca-Button" onClick={act}>
                {label}
              </button>
            )
          );
        })}
        <button
          type="button"
          className="eca-Link"
          aria-expanded={open}
          aria-controls={id}
          onClick={() => {
            setOpen(!open);
          }}
        >
          {open ? trans.__('Hide details') : trans.__('Show details')}
        </button>
      </div>
      <div id={id} className="eca-Failure-details" hidden={!open}>
        <Markdown text={text} />
      </div>
    </div>
  );
}
