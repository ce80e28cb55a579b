import { AnyDeciderName, ClusterDeciderName } from '../../../schemas/events/deciders.ts';

/** Values of series, a minute apart, as promtool writes them. */
type Series = Readonly<Record<string, string>>;

export interface AlertCase {
  /** When it is looked, in minutes. */
  readonly at: number;
  /** The fault, on which the alert fires. */
  readonly fires: Series;
  /** The same without the fault. */
  readonly quiet: Series;
}

const AN_HOUR_AND_MORE = 90;

/** One value all the time. */
const steady = (value: number): string => `${value}+0x2000`;
/** As steady, with more after ten minutes. */
const grows = (by: number): string => `0+0x10 ${by}+0x2000`;

/** A gauge that is wrong, and one that is well. */
const gauge = (at: number, series: string, wrong: number, well: number): AlertCase => ({
  at,
  fires: { [series]: steady(wrong) },
  quiet: { [series]: steady(well) },
});
/** A counter that grows after ten minutes, and one that does not. */
const counter = (at: number, series: string): AlertCase => ({
  at,
  fires: { [series]: grows(3) },
  quiet: { [series]: steady(3) },
});
/** A counter that grows all the time, and one that did once. */
const goesOn = (at: number, series: string): AlertCase => ({
  at,
  fires: { [series]: '0+1x2000' },
  quiet: { [series]: grows(1) },
});

const lastDecision = (decider: string): string =>
  `fleetgc_last_decision_timestamp_seconds{decider="${decider}",instance="d"}`;
const LAG = 'fleetgc_consumer_lag_messages{consumer="image-gc",topic="t",partition="1",instance="d"}';
const build = (instance: string): string =>
  `fleetgc_build_info{job="j",instance="${instance}",service="decide"}`;
const NEWEST =
  'fleetgc_consumer_newest_message_timestamp_seconds{consumer="pressure",topic="gc.node.disk-stats"}';

const NODE_SERVICES: Series = {
  [lastDecision('pressure')]: steady(0),
  [lastDecision('container-gc')]: steady(0),
  [lastDecision('image-gc')]: steady(0),
};
const CLUSTER_DECIDERS = ClusterDeciderName.options;
const CLUSTER_SERVICES: Series = Object.fromEntries(
  CLUSTER_DECIDERS.map((decider) => [lastDecision(decider), steady(0)]),
);
const AGENT = 'fleetgc_build_info{job="j",instance="c",service="cluster-agent"}';

/** All but one of the services, of which the one ends before it is looked. */
const without = (decider: string): Series => ({
  ...NODE_SERVICES,
  ...CLUSTER_SERVICES,
  [lastDecision(decider)]: '0+0x3 _x2000',
});

/** Further cases of an alert that looks at several things; of one that has a case of its own, by whatever name. */
export const MORE_CASES: readonly (readonly [alert: string, AlertCase])[] = [
  ...AnyDeciderName.options.map((decider): readonly [string, AlertCase] => [
    'FleetgcDecisionServiceMissing',
    {
      at: 25,
      fires: { ...without(decider), [AGENT]: steady(1) },
      quiet: { ...NODE_SERVICES, ...CLUSTER_SERVICES, [AGENT]: steady(1) },
    },
  ]),
  [
    'FleetgcDecisionServiceMissing',
    {
      at: 25,
      fires: { ...without('graph-gc'), 'fleetgc_clusters_heard{instance="d"}': '1+0x3 _x2000' },
      // Without clusters nobody misses those who decide for them.
      quiet: { ...NODE_SERVICES, 'fleetgc_clusters_heard{instance="d"}': '0+0x3 _x2000' },
    },
  ],
];

/** By the name of the alert. */
export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  FleetgcNodesSilent: gauge(15, 'fleetgc_nodes_silent{instance="d"}', 1, 0),
  FleetgcClustersSilent: gauge(15, 'fleetgc_clusters_silent{instance="d"}', 1, 0),
  FleetgcFleetShrank: {
    at: 100,
    fires: { 'fleetgc_nodes_heard{instance="d"}': '100+0x60 70+0x60' },
    quiet: { 'fleetgc_nodes_heard{instance="d"}': '100+0x60 85+0x60' },
  },
  FleetgcDecisionServiceMissing: {
    at: 15,
    fires: { [lastDecision('pressure')]: steady(0), [lastDecision('image-gc')]: steady(0) },
    quiet: NODE_SERVICES,
  },
  FleetgcDecisionsStandStill: {
    at: 20,
    fires: { [LAG]: steady(5), [lastDecision('image-gc')]: steady(0) },
    quiet: { [LAG]: steady(5), [lastDecision('image-gc')]: '0+60x2000' },
  },
  FleetgcDecisionsFallBehind: gauge(20, LAG, 20_000, 9_000),
  FleetgcEventLogStandsStill: {
    at: 15,
    fires: { [NEWEST]: steady(0) },
    quiet: { [NEWEST]: '0+60x2000' },
  },
  FleetgcProcessGone: {
    at: 100,
    fires: { [build('a')]: '1+0x60 _x60' },
    quiet: { [build('a')]: '1+0x60 _x60', [build('b')]: '_x60 1+0x60' },
  },
  FleetgcConsumerNotJoined: gauge(10, 'fleetgc_consumer_joined{consumer="node",instance="n"}', 0, 1),
  FleetgcConsumerPaused: gauge(10, 'fleetgc_consumer_paused{consumer="node",instance="n"}', 1, 0),
  FleetgcDeadLetters: counter(15, 'fleetgc_dead_letters_total{cause="not-json",instance="n"}'),
  FleetgcNoticesDropped: counter(15, 'fleetgc_notices_total{receiver="pager",outcome="too-old"}'),
  FleetgcDistrustedMessages: counter(
    15,
    'fleetgc_distrusted_messages_total{topic="gc.node.commands",cause="unsigned"}',
  ),
  FleetgcPoliciesUnreadable: gauge(10, 'fleetgc_policies_readable{instance="n"}', 0, 1),
  FleetgcDecisionsTooCostly: counter(
    20,
    'fleetgc_decisions_total{instance="d",decider="image-gc",outcome="too-costly"}',
  ),
  FleetgcApprovalUnreadable: gauge(10, 'fleetgc_unreadable_approvals{instance="n"}', 1, 0),
  FleetgcPauseForgotten: {
    at: 800,
    fires: { 'fleetgc_pauses{instance="n"}': steady(1) },
    quiet: { 'fleetgc_pauses{instance="n"}': '1+0x600 0+0x2000' },
  },
  FleetgcKeysUnreadable: gauge(10, 'fleetgc_keys_readable{instance="n"}', 0, 1),
  FleetgcSigningKeyNotBelieved: gauge(10, 'fleetgc_signing_key_believed{instance="n"}', 0, 1),
  FleetgcSigningKeyPending: gauge(15, 'fleetgc_signing_key_pending{instance="n"}', 1, 0),
  FleetgcSigningKeyEnds: gauge(
    AN_HOUR_AND_MORE,
    'fleetgc_signing_key_end_timestamp_seconds{instance="n"}',
    13 * 86_400,
    16 * 86_400,
  ),
  FleetgcDiskFull: {
    at: 20,
    fires: {
      'fleetgc_filesystem_available_bytes{instance="n",filesystem="imagefs"}': steady(9),
      'fleetgc_filesystem_capacity_bytes{instance="n",filesystem="imagefs"}': steady(100),
    },
    quiet: {
      'fleetgc_filesystem_available_bytes{instance="n",filesystem="imagefs"}': steady(11),
      'fleetgc_filesystem_capacity_bytes{instance="n",filesystem="imagefs"}': steady(100),
    },
  },
  FleetgcReclaimsUnrelieved: counter(20, 'fleetgc_executor_reclaims_unrelieved_total{instance="n"}'),
  FleetgcRemovalsFail: goesOn(
    AN_HOUR_AND_MORE,
    'fleetgc_executor_objects_total{instance="n",kind="image",outcome="failed"}',
  ),
  FleetgcResultsUnpublished: gauge(20, 'fleetgc_executor_results_unpublished{instance="n"}', 2, 0),
  FleetgcJournalInMemory: gauge(15, 'fleetgc_executor_journal_in_memory{instance="n"}', 1, 0),
  FleetgcFactsRefused: counter(20, 'fleetgc_facts_refused_total{instance="n",fact="inventory"}'),
  FleetgcStateDirectoryLow: gauge(
    15,
    'fleetgc_state_directory_available_bytes{instance="n"}',
    268_435_455,
    268_435_456,
  ),
  FleetgcLocalHold: gauge(
    AN_HOUR_AND_MORE,
    'fleetgc_cluster_executor_stopped{instance="c",why="local-hold"}',
    1,
    0,
  ),
  FleetgcNodesWithWarnings: gauge(20, 'fleetgc_nodes_with_warnings{instance="d",kind="clock"}', 1, 0),
  FleetgcObjectsHeld: gauge(40, 'fleetgc_objects_held{instance="d",decider="graph-gc",rule="S1"}', 4, 0),
  FleetgcApiServerSilent: gauge(10, 'fleetgc_cluster_api_silent_seconds{instance="c"}', 61, 5),
  FleetgcClusterFactsUnpublished: gauge(
    1,
    'fleetgc_cluster_agent_unpublished_seconds{instance="c"}',
    301,
    200,
  ),
  FleetgcKindsUnread: gauge(15, 'fleetgc_cluster_agent_unsynced_kinds{instance="c"}', 1, 0),
  FleetgcWatchesHeldBack: counter(
    15,
    'fleetgc_cluster_agent_watches_ended_total{instance="c",why="held-back"}',
  ),
  FleetgcClusterObjectsFail: goesOn(
    AN_HOUR_AND_MORE,
    'fleetgc_cluster_executor_objects_total{instance="c",action="delete",outcome="failed"}',
  ),
  FleetgcArchiveBehind: gauge(
    20,
    'fleetgc_archive_retention_left_seconds{topic="gc.node.results"}',
    86_000,
    90_000,
  ),
  FleetgcArchiveLost: counter(15, 'fleetgc_archive_lost_records_total{topic="gc.node.results"}'),
};
