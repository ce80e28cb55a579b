import { expect, test } from 'vitest';
import { textOf } from '../../deploy/files.ts';
import { isRecentEnough } from './go.ts';
import { MINIMUM_GO } from './versions.ts';

test.each(['go1.26.6', 'go1.26.10', 'go1.27rc1', 'go1.27', 'go2.0'])(
  '%s builds what tests need',
  (version) => {
    expect(isRecentEnough(version)).toBe(true);
  },
);

test.each(['go1.26.5', 'go1.26', 'go1.25.9', 'go1.9', 'none', ''])('%j does not', (version) => {
  expect(isRecentEnough(version)).toBe(false);
});

test('the README names the oldest one', () => {
  expect(textOf('README.md')).toContain(`Go ${MINIMUM_GO} or newer`);
});
