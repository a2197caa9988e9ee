/**
 * The parts of anywidget's front-end interface that the widgets use; see anywidget's documentation of front-end
 * modules.
 *
 * Types only. The widgets are `index.tsx` and `card.tsx`.
 */

export interface WidgetModel {
  get(name: string): unknown;
  send(content: unknown): void;
  on(event: string, callback: (...args: never[]) => void): void;
  off(event: string, callback: (...args: never[]) => void): void;
}

export interface WidgetView {
  readonly model: WidgetModel;
  readonly el: HTMLElement;
}

/** Both functions return one that ends what they began. */
export interface Widget {
  readonly initialize: (shown: Pick<WidgetView, 'model'>) => () => void;
  readonly render: (shown: WidgetView) => () => void;
}
