import type { Random } from '../../../sim/random.ts';
import { brokerRows } from '../../faults/broker-rows.ts';
import { SIGNATURES } from '../../faults/forgeries.ts';
import { KEY_ROWS, replaceDecider, revokeDecider } from '../../faults/key-rows.ts';
import { repeatRows } from '../../faults/message-rows.ts';
import { pauseRows } from '../../faults/pause-rows.ts';
import { processRows } from '../../faults/process-rows.ts';
import { between, type End, nothing, one, type Row, type Rows } from '../../faults/row.ts';
import type { ClusterFleet } from '../fleet/fleet.ts';
import { CLUSTER_POLICY_IDS } from '../policies.ts';
import { CLUSTER_SHAPE } from '../shape.ts';
import { API_ROWS } from './api-rows.ts';
import { ClusterFault, type ClusterFaultKind } from './fault.ts';
import { CLUSTER_FORGERIES, forgeForCluster } from './forgeries.ts';

/** What is put in force, what is forged, and what happens to the deciders' key while there is something to do. */
const CLUSTER_ROWS: Rows<ClusterFleet, ClusterFault, 'policy' | 'key-revoked' | 'forge'> = {
  policy: {
    weight: 4,
    draw: (random) => ({ forMs: 0, policy: one(random, CLUSTER_POLICY_IDS) }),
    begin: async ({ operator }, { policy }) => {
      await operator.apply(policy);
      return nothing;
    },
  },
  forge: {
    weight: 5,
    draw: (random) => ({
      forMs: 0,
      forgery: one(random, ['greedy-command', 'greedy-command', ...CLUSTER_FORGERIES]),
      signature: one(random, ['stolen', 'stolen', ...SIGNATURES]),
    }),
    begin: (fleet, forging) =>
      fleet.broker.inTurn(async () => {
        await forgeForCluster(fleet, forging);
        return nothing;
      }),
  },
  'key-revoked': {
    weight: 2,
    draw: (random) => ({ forMs: between(random, 1_000, 8_000) }),
    begin: async (fleet) => {
      const relax = fleet.press();
      await revokeDecider(fleet);
      return async () => {
        relax();
        await replaceDecider(fleet, 'at-once');
      };
    },
  },
};

/** Everything that may go wrong around a cluster. Whoever adds a kind of fault is led here by the compiler. */
export const CLUSTER_FAULTS: Rows<ClusterFleet, ClusterFault> = {
  ...processRows(CLUSTER_SHAPE, ({ press }: ClusterFleet) => press()),
  ...brokerRows(CLUSTER_SHAPE),
  ...repeatRows(CLUSTER_SHAPE),
  ...pauseRows(CLUSTER_SHAPE),
  ...KEY_ROWS,
  ...API_ROWS,
  ...CLUSTER_ROWS,
};

/** Makes a fault up. */
export const drawClusterFault = (random: Random, kind: ClusterFaultKind, atMs: number): ClusterFault =>
  ClusterFault.parse({ ...CLUSTER_FAULTS[kind].draw(random), kind, atMs });

/** Resolves to what ends it. */
export async function beginClusterFault<Kind extends ClusterFaultKind>(
  fleet: ClusterFleet,
  kind: Kind,
  fault: Extract<ClusterFault, { readonly kind: Kind }>,
): Promise<End> {
  const row: Row<ClusterFleet, typeof fault> = CLUSTER_FAULTS[kind];
  return row.begin(fleet, fault);
}
