/**
 * Shows an empty chat: a few first questions or, when no model is set up, how to set one up (`first_run/`).
 *
 * This module knows no session: `App.tsx` passes the models and the providers.
 */

import * as React from 'react';

import { FirstSteps, KeyResult, needsFirstRun } from './first_run/first_steps';
import { ProviderStatus } from '../wire/protocol';
import { useEnv } from './common/env';
import { Markdown } from './common/Markdown';
import { FirstRun, Outcome } from './first_run/FirstRun';

interface Props {
  /** Whether the server has sent its list of models. */
  readonly configured: boolean;
  /** Whether a model of ours answers in this chat. An outside agent has its own. */
  readonly needsModel: boolean;
  /** The names of the models. */
  readonly models: readonly string[];
  /** The providers of models, as far as they are known. */
  readonly providers: readonly ProviderStatus[];
  /** How many chats are stored. */
  readonly chats: number;
  /** The requests of the first steps to the server. */
  readonly steps: FirstSteps;
  /** All error messages of the server, the newest last. */
  readonly errors: readonly string[];
  /** The Markdown of the configuration for an empty chat; empty for our own heading. */
  readonly welcome: string;
  /** Puts a question into the prompt box. */
  readonly onTry: (text: string) => void;
  /** Chooses a model for this chat. */
  readonly onModel: (model: string) => void;
}

/** The first steps while they are needed, and then the ideas for a first question. */
export function Welcome(props: Props): React.ReactElement {
  const { configured, needsModel, models, providers, chats, steps, errors, welcome, onTry, onModel } = props;
  const { trans } = useEnv();
  /**
   * Whether the user is in one of the first steps. They stay then, although there are models already: the server lists
   * the models of a new key before the key was tried.
   */
  const [open, setOpen] = React.useState(false);
  /** Whether the first steps have led to a model. */
  const [done, setDone] = React.useState(false);
  /** The result for the key that works. */
  const [worked, setWorked] = React.useState<KeyResult>();
  // The small model, which needs no key.
  const bundled = providers.find(provider => provider.bundled !== undefined)?.bundled;
  const mayBeNeeded = configured && models.length <= 1;
  React.useEffect(() => {
    if (mayBeNeeded) {
      void steps.load();
    }
  }, [mayBeNeeded, steps]);
  if (!configured) {
    return <p className="eca-Welcome eca-Note">{trans.__('Looking for models…')}</p>;
  }
  if (needsModel && !done && (open || needsFirstRun(models, bundled, chats))) {
    return (
      <FirstRun
        providers={providers}
        bundled={bundled}
        steps={steps}
        errors={errors}
        onOpen={setOpen}
        onWorks={result => {
          setDone(true);
          setWorked(result);
        }}
        onSmall={model => {
          setDone(true);
          onModel(model);
          onTry(trans.__('What can a notebook do?'));
        }}
      />
    );
  }
  const ideas = [
    trans.__('Explain what this notebook does'),
    trans.__('Find out why the last cell fails'),
    trans.__('Plot the data in the active cell')
  ];
  return (
    <div className="eca-Welcome">
      {welcome.trim() === '' ? <h2>{trans.__('What are we working on?')}</h2> : <Markdown text={welcome} />}
      <Outcome busy={false} result={worked} />
      <ul className="eca-Options">
        {ideas.map(idea => (
          <li key={idea}>
            <button
              type="button"
              className="eca-Option"
              onClick={() => {
                onTry(idea);
              }}
            >
              {idea}
            </button>
          </li>
        ))}
      </ul>
      <p className="eca-Note">
        {trans.__(
          'Write @ to show the assistant a cell, a variable, a file or an error, # for files alone, and / for a command.'
        )}
      </p>
    </div>
  );
}
