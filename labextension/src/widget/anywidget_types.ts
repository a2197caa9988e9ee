/**
 * The types of anywidget's front-end interface, as far as our widgets use it. See "front-end modules" in the
 * documentation of anywidget.
 *
 * The widgets themselves are `index.tsx` and `card.tsx`.
 */

import type { Typesetter } from './markdown';

export interface WidgetModel {
  get(name: string): unknown;
  send(content: unknown): void;
  on(event: string, callback: (...args: never[]) => void): void;
  off(event: string, callback: (...args: never[]) => void): void;
}

/**
 * The part of an ipywidgets model from which Lab's typesetter is reached. Only Lab and Voilà have all of these fields.
 */
interface ManagedModel {
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

export interface WidgetView {
  readonly model: WidgetModel;
  readonly el: HTMLElement;
}

/** A widget as anywidget calls it. Each function returns a function that ends what it began. */
export interface Widget {
  readonly initialize: (shown: Pick<WidgetView, 'model'>) => () => void;
  readonly render: (shown: WidgetView) => () => void;
}
