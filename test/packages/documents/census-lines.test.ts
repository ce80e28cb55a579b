import { expect, test } from 'vitest';
import { toldCensusLines } from '../../../packages/documents/cluster.ts';
import { census } from '../../fixtures/census.ts';

test('what is deleted by now is not told as what would go', () => {
  const owner = { ownerUid: 'u', ownerKind: 'ConfigMap', ownerName: 'o', objects: 3, ofKind: 3 };
  const told = census({ missingOwners: { count: 1, first: [owner] } });
  const lines = toldCensusLines({ census: told, heardMs: 0, proof: 'signed' });
  expect(lines).toContain(
    '  ConfigMap o (u): at most 3 objects depended on it, those among them that are deleted by now',
  );
  expect(lines.join('\n')).not.toContain('would go');
});
