import { expect, test } from 'vitest';
import { METADATA_FORM } from '../../../../packages/kube-api/metadata.ts';
import { Mirror } from '../../../../services/cluster/agent/mirror.ts';
import type { ObservedObject } from '../../../../services/cluster/agent/observed-object.ts';

const PODS = { group: '', version: 'v1', kind: 'Pod', resource: 'pods', namespaced: true };
const OTHERS = { ...PODS, group: 'example.com' };

function object(uid: string): ObservedObject {
  const metadata = { name: uid, namespace: 'ns', uid, resourceVersion: '1' };
  const read = METADATA_FORM.read({ metadata });
  if (read === null) throw new Error('no object');
  return read;
}

function mirrored() {
  const mirror = new Mirror<string>({
    of: PODS,
    rowOf: (_, { uid }) => (uid.startsWith('odd') ? null : uid),
  });
  const list = (...uids: readonly string[]): void => {
    mirror.beginList(PODS);
    mirror.listed(PODS, uids.map(object));
    mirror.endList(PODS, true);
  };
  return { mirror, list, rows: () => [...mirror.rows()] };
}

test('[cluster A14] what a whole list lacks is gone, and what a broken one lacks is not', () => {
  const { mirror, list, rows } = mirrored();
  list('a', 'b');
  mirror.beginList(PODS);
  mirror.listed(PODS, [object('b')]);
  mirror.failed(PODS);
  expect(rows()).toEqual(['a', 'b']);
  list('b', 'c');
  expect(rows()).toEqual(['b', 'c']);
});

test('nothing is concluded before the first list, after a failure, or from a list that is not watched', () => {
  const { mirror, list } = mirrored();
  expect(mirror.isSynced).toBe(false);
  list('a');
  expect(mirror.isSynced).toBe(true);
  mirror.failed(PODS);
  expect(mirror.isSynced).toBe(false);
  mirror.beginList(PODS);
  mirror.endList(PODS, false);
  expect(mirror.isSynced).toBe(false);
  list('a');
  mirror.wentBack();
  expect(mirror.isSynced).toBe(false);
});

test('events change it, those of other kinds do not, and what cannot be read is not kept', () => {
  const { mirror, rows } = mirrored();
  mirror.put(PODS, object('a'));
  mirror.put(OTHERS, object('b'));
  mirror.put(PODS, object('odd'));
  mirror.gone(OTHERS, object('a'));
  mirror.gone(PODS, object('never'));
  expect(rows()).toEqual(['a']);
  mirror.gone(PODS, object('a'));
  expect([rows(), mirror.size]).toEqual([[], 0]);
});
