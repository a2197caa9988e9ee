/** The panel in Lab: its session, and the means of Lab's that its views use. Loaded when it is first shown. */

import { ServerConnection } from '@jupyterlab/services';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ITranslator } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import { UUID } from '@lumino/coreutils';
import * as React from 'react';

import '../../style/panel.css';

import { Always } from '../chat/approval_rules';
import { Editing } from '../inline/edit_cells';
import { flagsOf } from '../chat/flags';
import { pathOf } from '../render/sanitize';
import { ActiveInstructions } from '../notebook/instructions';
import { openLink } from '../wire/link';
import type { LabParts, LiveNotebooks } from '../notebook/live_notebooks';
import { codePlace, finder, NotebookSurroundings } from '../notebook/active_notebook';
import { show } from './notices';
import { wholeOutput } from '../chat/tool_output';
import { HunkPainter } from '../review/hunk_painter';
import type { Preferred } from '../view/common/preferences';
import { Remembered } from '../chat/tab_storage';
import { markdownInto } from '../render/markdown';
import { Reviewing } from '../review/controller';
import type { Link } from '../wire/rpc';
import { Session } from '../chat/session';
import { App } from '../view/App';
import { Env, EnvProvider } from '../view/common/env';

export interface PanelParts {
  readonly settings: ServerConnection.ISettings;
  /** The first one; what may be wrong with it is not told anywhere else. */
  readonly link: Promise<Link>;
  readonly rendermime: IRenderMimeRegistry;
  readonly translator: ITranslator;
  readonly lab: LabParts;
  readonly notebooks: LiveNotebooks;
  readonly preferred: Preferred;
  readonly openSettings: () => void;
}

export class AssistantPanel extends ReactWidget {
  readonly session: Session;
  private readonly surroundings: NotebookSurroundings;
  private readonly instructions: ActiveInstructions;
  private readonly reviewing: Reviewing;
  /** Cells rewritten to order. */
  readonly editing: Editing;
  readonly env: Env;
  private readonly connecting: Promise<void>;

  constructor({ settings, link, rendermime, translator, lab, notebooks, preferred, openSettings }: PanelParts) {
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
    const showCell = (path: string, cellId?: string): void => {
      notebooks.open({ path, ...(cellId !== undefined && { cellId }) }).catch((error: unknown) => {
        this.session.complain(error);
      });
    };
    this.env = {
      trans,
      code,
      openPath,
      showCell,
      findCell: finder(tracker),
      markdown: markdownInto(rendermime, code, translator),
      wholeOutput: id => wholeOutput(this.session, id),
      preferred,
      openSettings,
      always: new Always(() => this.session),
      flags: flagsOf(() => this.session)
    };
    this.surroundings = new NotebookSurroundings(tracker, trans, lab.front);
    this.instructions = new ActiveInstructions(tracker);
    const remembered = new Remembered(settings.baseUrl);
    const known = remembered.chat();
    let first: Promise<Link> | undefined = link;
    this.session = new Session({
      notebooks,
      open: () => {
        const opened = first ?? openLink(settings);
        first = undefined;
        return opened;
      },
      ...(known !== undefined && { known }),
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
        this.session.notify('mcp/connectServer', { name: server });
      });
    };
    this.session.subscribe(() => {
      const { id } = this.session.chat;
      if (String(id) !== remembered.chat()) {
        remembered.show(String(id));
      }
    });
    const painter = new HunkPainter();
    this.reviewing = new Reviewing(this.session, tracker, notebooks, painter, remembered, trans);
    this.editing = new Editing(this.session, notebooks, painter, trans, () => this.connecting);
    this.node.addEventListener('click', this.follow);
    this.node.addEventListener('keydown', this.follow);
    this.connecting = this.session.connect();
  }

  override dispose(): void {
    this.reviewing.dispose();
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
    const found = (): boolean => {
      // The first text may be that of the notebook's instructions, folded away.
      const box = this.node.querySelector<HTMLElement>('textarea[role=combobox]');
      box?.focus();
      return box !== null;
    };
    if (!found()) {
      const drawn = new MutationObserver(() => {
        if (found()) {
          drawn.disconnect();
        }
      });
      drawn.observe(this.node, { childList: true, subtree: true });
    }
  }

  protected override render(): React.ReactElement {
    return (
      <EnvProvider value={this.env}>
        <App session={this.session} surroundings={this.surroundings} instructions={this.instructions} />
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
