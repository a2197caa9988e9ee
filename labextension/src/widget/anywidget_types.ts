/**
 * Declares the types of anywidget's front-end interface that our widgets use. anywidget is a library for widgets in
 * notebooks: the module of a widget exports functions, which anywidget calls in the page. See "front-end modules" in
 * its documentation.
 *
 * The widgets themselves are `index.tsx` and `card.tsx`.
 */

import type { Typesetter } from './markdown';

/** The state of a widget, which the page shares with the kernel. All outputs that show the widget share one model. */
export interface WidgetModel {
  /** Returns a field of the state. */
  get(name: string): unknown;
  /** Sends a message to the kernel's end of the widget. */
  send(content: unknown): void;
  /** Calls `callback` at each event of a kind, for example at each message of the kernel (`msg:custom`). */
  on(event: string, callback: (...args: never[]) => void): void;
  /** Ends the calls of `callback` that `on` has begun. */
  off(event: string, callback: (...args: never[]) => void): void;
}

/**
 * The part of an ipywidgets model from which Lab's typesetter is reached. Only Lab and Voilà have all of these fields.
 */
interface ManagedModel {
  /** The object of the page that creates widgets. In Lab it belongs to one notebook. */
  readonly widget_manager?: {
    readonly rendermime?: { readonly latexTypesetter?: Typesetter | null };
    readonly context?: { readonly path?: string };
  };
}

/**
 * Return the widget manager of this page. Anywidget hides the manager of its own model. So the manager is found through
 * the layout, which every widget has.
 */
function findManager(model: WidgetModel): ManagedModel['widget_manager'] {
  return (model.get('layout') as ManagedModel | undefined)?.widget_manager;
}

/** Return the typesetter of this page; undefined when the page has none. */
export function findTypesetter(model: WidgetModel): Typesetter | undefined {
  return findManager(model)?.rendermime?.latexTypesetter ?? undefined;
}

/** Return the path of the notebook that shows the widget; undefined outside of JupyterLab and Notebook 7. */
export function findNotebookPath(model: WidgetModel): string | undefined {
  return findManager(model)?.context?.path;
}

/** One output that shows a widget. */
export interface WidgetView {
  readonly model: WidgetModel;
  /** The element of the output, into which the widget is drawn. */
  readonly el: HTMLElement;
}

/**
 * A widget as anywidget calls it: `initialize` once for each widget model, and then `render` for each output that shows
 * it. Each function returns a function that undoes it, which anywidget calls at the end.
 */
export interface Widget {
  readonly initialize: (props: Pick<WidgetView, 'model'>) => () => void;
  readonly render: (props: WidgetView) => () => void;
}
