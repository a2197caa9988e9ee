/** Copying a text: with the clipboard of the page, where it has one, and otherwise through the page's selection. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { copyText } from '../../src/render/copy_text';

const box = { value: '', style: {}, setAttribute: vi.fn(), select: vi.fn(), remove: vi.fn() };
const focused = { focus: vi.fn() };
let copies: boolean;

beforeEach(() => {
  copies = true;
  box.value = '';
  class HTMLElement {
    focus = focused.focus;
  }
  vi.stubGlobal('HTMLElement', HTMLElement);
  vi.stubGlobal('navigator', {});
  vi.stubGlobal('document', {
    activeElement: new HTMLElement(),
    body: { append: vi.fn() },
    createElement: () => box,
    execCommand: () => copies
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.clearAllMocks();
});

test('the clipboard of the page is used where there is one', async () => {
  const writeText = vi.fn(() => Promise.resolve());
  vi.stubGlobal('navigator', { clipboard: { writeText } });
  expect(await copyText('a = 1')).toBe(true);
  expect(writeText).toHaveBeenCalledWith('a = 1');
  expect(box.value).toBe('');
});

test('a page over plain http has no clipboard, and copies nevertheless', async () => {
  expect(await copyText('a = 1')).toBe(true);
  expect(box.value).toBe('a = 1');
  expect(box.remove).toHaveBeenCalledOnce();
  expect(focused.focus).toHaveBeenCalledOnce();
});

test('where the clipboard is forbidden, the other way is tried, and a failure of both is reported', async () => {
  vi.stubGlobal('navigator', { clipboard: { writeText: () => Promise.reject(new Error('not allowed')) } });
  expect(await copyText('a = 1')).toBe(true);
  copies = false;
  expect(await copyText('a = 1')).toBe(false);
});
