/** What a front end with ipywidgets gives a widget of anywidget's to work with; see anywidget's front-end module. */

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

/** The results end what was begun. */
export interface Widget {
  readonly initialize: (shown: Pick<WidgetView, 'model'>) => () => void;
  readonly render: (shown: WidgetView) => () => void;
}
