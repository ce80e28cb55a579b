import { expect, test } from 'vitest';
import { readMetadata } from '../../../../packages/kube-api/metadata.ts';
import { carryOut } from '../../../../services/cluster/executor/object.ts';
import { FakeApi, kindNamed } from './support/fake-api.ts';

test('[cluster D11] references beyond what is read are never lost, even where their sign is what is to be dropped', async () => {
  const api = new FakeApi(() => 0);
  const referenceTo = (uid: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid });
  const ownerReferences = Array.from({ length: 201 }, (_, number) => referenceTo(`o${number}`));
  const stored = api.put({ kind: kindNamed('Secret'), name: 'x', ownerReferences });
  const { namespace, name, uid, resourceVersion } = stored;
  const object = readMetadata({ metadata: { namespace, name, uid, resourceVersion, ownerReferences } });
  if (object === null) throw new Error('it is an object');
  const end = await carryOut(api.connection(), {
    kind: stored.kind,
    object,
    action: { action: 'drop-references', ownerUids: ['-'] },
    rehearse: false,
    objection: () => null,
    save: async () => null,
  });
  expect(end).toMatchObject({ outcome: { outcome: 'refused', reason: 'kept-by-own-judgement' } });
  expect(api.writes).toEqual([]);
});
