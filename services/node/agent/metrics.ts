import type { Count, Metrics } from '../../../packages/process/metrics.ts';
import type {
  FilesystemName,
  FilesystemReading,
  FilesystemReadings,
} from '../../../schemas/events/filesystem.ts';
import { InventoryTrigger } from '../../../schemas/events/inventory.ts';

const ORDER_OUTCOMES = [
  'accepted',
  'repeated',
  'coalesced',
  'expired',
  'other-node',
  'other-instance',
  'other-boot',
  'taken-in-the-future',
  'paused',
  'no-policy',
  'policies-unreadable',
  'not-met',
] as const;
const INVENTORY_LABELS = {
  trigger: InventoryTrigger.options,
  status: ['complete', 'incomplete', 'too-large'],
} as const;
const FACTS = ['inventory', 'disk-stats'] as const;
export type Fact = (typeof FACTS)[number];

export interface AgentMetrics {
  readonly orders: Count<{ readonly outcome: typeof ORDER_OUTCOMES }>;
  readonly inventories: Count<typeof INVENTORY_LABELS>;
  readonly looks: Count<{ readonly status: readonly ['complete', 'incomplete'] }>;
  readonly dropped: Count<{ readonly fact: typeof FACTS }>;
}

export const agentMetrics = (metrics: Metrics): AgentMetrics => ({
  orders: metrics.count('agent_orders_total', 'Orders to observe, by what became of them.', {
    outcome: ORDER_OUTCOMES,
  }),
  inventories: metrics.count('agent_inventories_total', 'Inventories taken.', INVENTORY_LABELS),
  looks: metrics.count('agent_looks_total', 'Looks at the runtime.', { status: ['complete', 'incomplete'] }),
  dropped: metrics.count('agent_dropped_total', 'Facts that were taken and never published.', {
    fact: FACTS,
  }),
});

type Value = 'capacityBytes' | 'availableBytes' | 'inodes' | 'inodesFree';

const GAUGES: readonly (readonly [name: string, help: string, value: Value])[] = [
  ['filesystem_capacity_bytes', 'Size of the filesystem.', 'capacityBytes'],
  ['filesystem_available_bytes', 'Bytes that an unprivileged process may still use.', 'availableBytes'],
  ['filesystem_inodes', 'Inodes of the filesystem.', 'inodes'],
  ['filesystem_inodes_free', 'Free inodes.', 'inodesFree'],
];

/** As last sampled. A value that could not be had is not there. */
export function addFilesystemGauges(metrics: Metrics, readings: () => FilesystemReadings): void {
  for (const [name, help, value] of GAUGES) {
    metrics.gauge(name, help, ['filesystem'], () =>
      readingsByName(readings()).flatMap(([filesystem, reading]) => {
        const digits = reading?.[value] ?? null;
        return digits === null ? [] : [[{ filesystem }, Number(digits)] as const];
      }),
    );
  }
}

const readingsByName = ({
  nodefs,
  imagefs,
  containerfs,
}: FilesystemReadings): [FilesystemName, FilesystemReading | null][] => [
  ['nodefs', nodefs],
  ['imagefs', imagefs],
  ['containerfs', containerfs],
];
