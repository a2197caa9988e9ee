/** Where the panel stands in Lab: there from the start, and empty until it is first shown. */

import { Message } from '@lumino/messaging';
import { PanelLayout, Widget } from '@lumino/widgets';

import type { AssistantPanel } from './panel';

export class PanelPlace extends Widget {
  private panel: Promise<AssistantPanel> | undefined;

  constructor(private readonly load: () => Promise<AssistantPanel>) {
    super();
    this.id = 'jupyter-eca:panel';
    this.layout = new PanelLayout();
    // Narrower than this, code and buttons do not fit. Here because the style sheet is loaded later.
    this.node.style.minWidth = '320px';
  }

  ask(message: string): void {
    void this.fill().then(panel => panel.ask(message));
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    void this.fill();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.isVisible) {
      void this.fill();
    }
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    void this.fill().then(panel => {
      panel.focus();
    });
  }

  private fill(): Promise<AssistantPanel> {
    this.panel ??= this.load().then(panel => {
      (this.layout as PanelLayout).addWidget(panel);
      return panel;
    });
    return this.panel;
  }
}
