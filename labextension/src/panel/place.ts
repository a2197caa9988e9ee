/**
 * Provides the place of the panel in Lab: a widget that Lab has in its sidebar from the start, usually closed or behind
 * another tab. The widget is empty until the user sees it for the first time. Then it loads the panel.
 *
 * Other plugins get the panel from this widget. They can load the panel (`loadPanel`), or wait until something else has
 * loaded it (`loaded`).
 */

import { Token } from '@lumino/coreutils';
import { Message } from '@lumino/messaging';
import { PanelLayout, Widget } from '@lumino/widgets';

import type { NotebookPanel } from '@jupyterlab/notebook';
import type { AssistantPanel } from './panel';

/** The token by which other plugins get the place of the panel. */
export const IPanelPlace = new Token<PanelPlace>('jupyter-eca:IPanelPlace', 'Where the panel of the assistant stands.');

/** The widget in Lab's sidebar or main area. It contains the panel as soon as the panel is loaded. */
export class PanelPlace extends Widget {
  /** Undefined until `loadPanel` is called. */
  private panel: Promise<AssistantPanel> | undefined;
  /** Resolves the promise `loaded`. */
  private resolveLoaded: (panel: AssistantPanel) => void = () => undefined;
  /** Resolves when the panel is loaded. */
  readonly loaded = new Promise<AssistantPanel>(resolve => {
    this.resolveLoaded = resolve;
  });

  /**
   * `load` loads the modules of the panel and creates it. `isElastic`: the panel may become narrower than its content
   * needs, because the page has a sidebar of a fixed width, in which a wider panel would be cut off.
   */
  constructor(
    private readonly load: () => Promise<AssistantPanel>,
    isElastic: boolean
  ) {
    super();
    this.id = 'jupyter-eca:panel';
    this.layout = new PanelLayout();
    // Code and buttons need this width. It is set here, because the style sheet is loaded later.
    this.node.style.minWidth = isElastic ? '' : '320px';
  }

  /** Ask a question in the panel. The panel is loaded for this, but the caller shows it. */
  ask(message: string): void {
    void this.loadPanel().then(panel => panel.ask(message));
  }

  /**
   * Open the edit box in the active cell of a notebook. The panel is loaded for this, because it has the rewriter of
   * cells, but it is not shown.
   */
  openEditBox(notebook: NotebookPanel): void {
    void this.loadPanel().then(({ rewriter }) => rewriter.open(notebook));
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    void this.loadPanel();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.isVisible) {
      void this.loadPanel();
    }
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    void this.loadPanel().then(panel => {
      panel.focus();
    });
  }

  /** Load the panel, unless it is loaded, and return it. */
  loadPanel(): Promise<AssistantPanel> {
    this.panel ??= this.load().then(panel => {
      (this.layout as PanelLayout).addWidget(panel);
      this.resolveLoaded(panel);
      return panel;
    });
    return this.panel;
  }
}
