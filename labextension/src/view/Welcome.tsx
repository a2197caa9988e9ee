/**
 * Shows what an empty chat contains: ideas for a first question or, when no model is set up, the steps that set one up
 * (`first_run/`).
 *
 * This module knows no session: `App.tsx` passes the models and the providers.
 */

import * as React from 'react';

import { createElement } from './common/element';
import { FirstSteps, KeyResult, needsFirstRun } from './first_run/first_steps';
import { ProviderStatus } from '../wire/protocol';
import { useEnv } from './common/env';
import { Markdown } from './common/Markdown';
import { FirstRun, KeyOutcome } from './first_run/FirstRun';

interface Props {
  /** Whether the server has sent its list of models. */
  readonly hasModelList: boolean;
  /**
   * Whether this chat needs a model that is set up here. A chat with an outside agent does not: it has its own model.
   */
  readonly needsModel: boolean;
  /** The names of the models. */
  readonly models: readonly string[];
  /** The providers of models, as far as they are known. */
  readonly providers: readonly ProviderStatus[];
  /** How many chats are stored. A user with stored chats and a model does not need the first steps. */
  readonly chatCount: number;
  /** Sends the requests of the first steps to the server. */
  readonly steps: FirstSteps;
  /** All error messages of the server, the newest last. */
  readonly errors: readonly string[];
  /** The Markdown that the configuration sets for an empty chat; empty when the default heading is shown. */
  readonly welcome: string;
  /** Puts a question into the prompt box. */
  readonly onInsertQuestion: (text: string) => void;
  /** Chooses a model for this chat. */
  readonly onChooseModel: (model: string) => void;
}

/** Draws the first steps while they are needed, and then the ideas for a first question. */
export function Welcome(props: Props): React.ReactElement {
  const {
    hasModelList,
    needsModel,
    models,
    providers,
    chatCount,
    steps,
    errors,
    welcome,
    onInsertQuestion,
    onChooseModel
  } = props;
  const { trans } = useEnv();
  /**
   * Whether the user is in one of the first steps. Then the first steps stay in view, although there may be models
   * already: the server lists the models of a new key before the key was tried.
   */
  const [isFirstRunOpen, setFirstRunOpen] = React.useState(false);
  /** Whether the first steps have led to a model. */
  const [isModelFound, setModelFound] = React.useState(false);
  /** The result for the key that works. */
  const [keyResult, setKeyResult] = React.useState<KeyResult>();
  // The small model runs inside Jupyter and needs no key. The first steps offer it to users without another model.
  const bundled = providers.find(provider => provider.bundled !== undefined)?.bundled;
  // With more than one model, the first steps never begin. With one, they may begin if it is the small model.
  const mayNeedFirstSteps = hasModelList && models.length <= 1;
  React.useEffect(() => {
    if (mayNeedFirstSteps) {
      void steps.loadProviders();
    }
  }, [mayNeedFirstSteps, steps]);
  if (!hasModelList) {
    return <p className="eca-Welcome eca-Note">{trans.__('Looking for models…')}</p>;
  }
  if (needsModel && !isModelFound && (isFirstRunOpen || needsFirstRun(models, bundled, chatCount))) {
    return (
      <FirstRun
        providers={providers}
        bundled={bundled}
        steps={steps}
        errors={errors}
        onOpen={setFirstRunOpen}
        onKeyWorks={result => {
          setModelFound(true);
          setKeyResult(result);
        }}
        onTrySmallModel={model => {
          setModelFound(true);
          onChooseModel(model);
          onInsertQuestion(trans.__('What can a notebook do?'));
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
      <KeyOutcome busy={false} result={keyResult} />
      <ul className="eca-Options">
        {ideas.map(idea => (
          <li key={idea}>
            <button
              type="button"
              className="eca-Option"
              onClick={() => {
                onInsertQuestion(idea);
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
