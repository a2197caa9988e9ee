/** The panel in Lab: its session, and the means of Lab's that its views use. Loaded when it is first shown. */

import { ServerConnection } from '@jupyterlab/services';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ITranslator } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import { UUID } from '@lumino/coreutils';
import { Message } from '@lumino/messaging';
import * as React from 'react';

import '../style/panel.css';

import { pathOf } from './inert';
import { openLink } from './link';
import { LabParts, LiveNotebooks } from './notebookhost';
import { codePlace, NotebookSurroundings } from './notebooks';
import { show } from './notices';
import { markdownInto } from './render';
import { Session } from './session';
import { App } from './view/App';
import { Env, EnvProvider } from './view/env';

export interface PanelParts {
  readonly settings: ServerConnection.ISettings;
  readonly rendermime: IRenderMimeRegistry;
  readonly translator: ITranslator;
  readonly lab: LabParts;
}

export class AssistantPanel extends ReactWidget {
  private readonly session: Session;
  private readonly surroundings: NotebookSurroundings;
  private readonly env: Env;
  private readonly connecting: Promise<void>;
  private wantsFocus = false;

  constructor({ settings, rendermime, translator, lab }: PanelParts) {
    super();
    this.addClass('eca-PanelHost');
    const trans = translator.load('jupyter_eca');
    const { tracker } = lab;
    const openPath = (path: string): void => void lab.openPath(path);
    const code = {
      copy: (text: string) => navigator.clipboard.writeText(text),
      get place() {
        return codePlace(tracker);
      }
    };
    const notebooks = new LiveNotebooks(lab);
    const showCell = (path: string, cellId?: string): void => {
      notebooks.open({ path, ...(cellId !== undefined && { cellId }) }).catch((error: unknown) => {
        this.session.complain(error);
      });
    };
    this.env = { trans, code, openPath, showCell, markdown: markdownInto(rendermime, code, translator) };
    this.surroundings = new NotebookSurroundings(tracker, trans);
    this.session = new Session({
      notebooks,
      open: () => openLink(settings),
      newId: () => UUID.uuid4(),
      later: (call, ms) => {
        const timer = window.setTimeout(call, ms);
        return () => {
          window.clearTimeout(timer);
        };
      }
    });
    this.session.onOffer = offer => {
      show(offer, trans, server => {
        this.session.signIn(server);
      });
    };
    this.node.addEventListener('click', this.follow);
    this.node.addEventListener('keydown', this.follow);
    this.connecting = this.session.connect();
  }

  override dispose(): void {
    this.session.close();
    super.dispose();
  }

  /** With what is worked on in the notebook: in the chat that is shown, or in another one while that answers. */
  async ask(message: string): Promise<void> {
    const contexts = this.surroundings.read();
    await this.connecting;
    if (this.session.chat.status !== 'idle') {
      this.session.newChat();
    }
    if (!(await this.session.prompt(message, contexts))) {
      this.session.onDraft(message);
    }
  }

  /** Where the keyboard goes when the panel is opened: at once or, on its first opening, when it is drawn. */
  focus(): void {
    const box = this.node.querySelector('textarea');
    box?.focus();
    this.wantsFocus = box === null;
  }

  protected override onUpdateRequest(message: Message): void {
    super.onUpdateRequest(message);
    void this.renderPromise?.then(() => {
      if (this.wantsFocus) {
        this.focus();
      }
    });
  }

  protected override render(): React.ReactElement {
    return (
      <EnvProvider value={this.env}>
        <App session={this.session} surroundings={this.surroundings} />
      </EnvProvider>
    );
  }

  private readonly follow = (event: Event): void => {
    const path = pathOf(event.target);
    if (path !== undefined && (!(event instanceof KeyboardEvent) || event.key === 'Enter')) {
      event.preventDefault();
      this.env.openPath(path);
    }
  };
}
