import { z } from 'zod';
import { Census } from './events/census.ts';
import { ClusterCommand } from './events/cluster-command.ts';
import { ClusterDecision } from './events/cluster-decision.ts';
import { ClusterCommandIntent } from './events/cluster-intent.ts';
import { ClusterRemoved } from './events/cluster-removed.ts';
import { ClusterCommandResult, ClusterObjectResults } from './events/cluster-result.ts';
import { Command } from './events/command.ts';
import { DeadLetter, DeadLetterRedrive } from './events/dead-letter.ts';
import { Decision } from './events/decision.ts';
import { DiskStats } from './events/disk-stats.ts';
import { EnvelopeHeaders } from './events/envelope.ts';
import { Expiry } from './events/expiry.ts';
import { ArchiveHead, DecisionHead } from './events/head.ts';
import { Inventory } from './events/inventory.ts';
import { LatestClusterFact, LatestNodeFact } from './events/latest-fact.ts';
import { Observe } from './events/observe.ts';
import { Ownership } from './events/ownership.ts';
import { Pods } from './events/pods.ts';
import {
  CommandResult,
  ObjectResult,
  PassFailed,
  PressureUnrelieved,
  ReclaimContinues,
  RemovalIntent,
} from './events/result.ts';
import { KeyCertificate, KeyRevocation } from './keys/key-statement.ts';
import { TrustRoots } from './keys/trust-roots.ts';
import { NoticeEvent } from './notices/notice.ts';
import { NoticeRules } from './notices/notice-rules.ts';
import { ApprovalRecord } from './policy/approval.ts';
import { ClusterPolicyRecord } from './policy/cluster-policy.ts';
import { ClusterPolicyFile } from './policy/cluster-policy-file.ts';
import { PauseRecord, PolicyDeletion, PolicyRecord } from './policy/policy.ts';
import { PolicyDocumentLine } from './policy/policy-document.ts';
import { PolicyFile } from './policy/policy-file.ts';
import { PolicySetRecord } from './policy/policy-set.ts';
import { AuditReport } from './reports/audit-report.ts';
import { AuditSimulation } from './reports/audit-simulation.ts';
import { ClusterCascade } from './reports/cluster-cascade.ts';
import { ClusterExplanation, ClusterExplanationLine } from './reports/cluster-explanation.ts';
import { ClusterLeftovers } from './reports/cluster-leftovers.ts';
import { ClusterPlan } from './reports/cluster-plan.ts';
import { ClusterSimulation } from './reports/cluster-simulation.ts';
import {
  DashboardActivity,
  DashboardFleet,
  DashboardFreed,
  DashboardNews,
  DashboardNode,
  DashboardNodes,
  DashboardProgress,
  DashboardSearch,
  DashboardSession,
  DashboardStatus,
} from './reports/dashboard.ts';
import { DASHBOARD_ACTIONS, DashboardActionDone, DashboardPauses } from './reports/dashboard-actions.ts';
import {
  DashboardCluster,
  DashboardClusterObjects,
  DashboardClusterOutcomes,
  DashboardClusters,
  DashboardHeld,
  DashboardObjectLife,
  DashboardOwnerGraph,
} from './reports/dashboard-clusters.ts';
import { DashboardHistory } from './reports/dashboard-history.ts';
import {
  DashboardHolders,
  DashboardImages,
  DashboardRepository,
  DashboardReturned,
} from './reports/dashboard-images.ts';
import { DashboardLetterShown, DashboardLetters } from './reports/dashboard-letters.ts';
import { DashboardLife, DashboardListed, DashboardObject } from './reports/dashboard-object.ts';
import { DashboardPlan } from './reports/dashboard-plan.ts';
import {
  DashboardPolicies,
  DashboardPolicy,
  DashboardPolicyCheck,
  DashboardSimulation,
  DashboardSimulations,
} from './reports/dashboard-policies.ts';
import { DashboardReport } from './reports/dashboard-report.ts';
import { Explanation, ExplanationLine } from './reports/explanation.ts';
import { FleetNodes } from './reports/fleet-nodes.ts';
import { FleetStatus } from './reports/fleet-status.ts';
import { Plan, PlanLine, PlanRequest } from './reports/plan.ts';
import { HeldList, PolicyList, ShownPolicy } from './reports/policy-list.ts';

/** Where the generated schemas lie, one file each. */
export const GENERATED_DIRECTORY = new URL('./generated/', import.meta.url);

/** What is described: every event by its CloudEvents type, the headers of all, and what people write and read. */
const DESCRIBED: Readonly<Record<string, z.ZodType>> = {
  'fleetgc.node.disk-stats.v1': DiskStats,
  'fleetgc.node.inventory.v1': Inventory,
  'fleetgc.node.observe.v1': Observe,
  'fleetgc.node.command.v1': Command,
  'fleetgc.node.object-result.v1': ObjectResult,
  'fleetgc.node.removal-intent.v1': RemovalIntent,
  'fleetgc.node.command-result.v1': CommandResult,
  'fleetgc.node.pass-failed.v1': PassFailed,
  'fleetgc.node.reclaim-continues.v1': ReclaimContinues,
  'fleetgc.node.pressure-unrelieved.v1': PressureUnrelieved,
  'fleetgc.node.decision.v1': Decision,
  'fleetgc.cluster.ownership.v1': Ownership,
  'fleetgc.cluster.pods.v1': Pods,
  'fleetgc.cluster.expiry.v1': Expiry,
  'fleetgc.cluster.command.v1': ClusterCommand,
  'fleetgc.cluster.removed.v1': ClusterRemoved,
  'fleetgc.cluster.command-intent.v1': ClusterCommandIntent,
  'fleetgc.cluster.object-results.v1': ClusterObjectResults,
  'fleetgc.cluster.command-result.v1': ClusterCommandResult,
  'fleetgc.cluster.decision.v1': ClusterDecision,
  'fleetgc.cluster.census.v1': Census,
  'fleetgc.policy.v1': PolicyRecord,
  'fleetgc.cluster-policy.v1': ClusterPolicyRecord,
  'fleetgc.policy-set.v1': PolicySetRecord,
  'fleetgc.pause.v1': PauseRecord,
  'fleetgc.approval.v1': ApprovalRecord,
  'fleetgc.policy-deletion.v1': PolicyDeletion,
  'fleetgc.key-certificate.v1': KeyCertificate,
  'fleetgc.key-revocation.v1': KeyRevocation,
  'fleetgc.archive-head.v1': ArchiveHead,
  'fleetgc.decision-head.v1': DecisionHead,
  'fleetgc.node.latest-fact.v1': LatestNodeFact,
  'fleetgc.cluster.latest-fact.v1': LatestClusterFact,
  'fleetgc.dead-letter.v1': DeadLetter,
  'fleetgc.dead-letter-redrive.v1': DeadLetterRedrive,
  'envelope-headers': EnvelopeHeaders,
  'policy-document-line': PolicyDocumentLine,
  'policy-file': PolicyFile,
  'cluster-policy-file': ClusterPolicyFile,
  'trust-roots': TrustRoots,
  'audit-report': AuditReport,
  'audit-simulation': AuditSimulation,
  'cluster-cascade': ClusterCascade,
  'cluster-explanation': ClusterExplanation,
  'cluster-explanation-line': ClusterExplanationLine,
  'cluster-leftovers': ClusterLeftovers,
  'cluster-plan': ClusterPlan,
  'cluster-simulation': ClusterSimulation,
  'dashboard-action-approve': DASHBOARD_ACTIONS.approve,
  'dashboard-action-done': DashboardActionDone,
  'dashboard-action-pause': DASHBOARD_ACTIONS.pause,
  'dashboard-action-redrive': DASHBOARD_ACTIONS.redrive,
  'dashboard-action-resume': DASHBOARD_ACTIONS.resume,
  'dashboard-action-withdraw': DASHBOARD_ACTIONS.withdraw,
  'dashboard-activity': DashboardActivity,
  'dashboard-cluster': DashboardCluster,
  'dashboard-cluster-objects': DashboardClusterObjects,
  'dashboard-cluster-outcomes': DashboardClusterOutcomes,
  'dashboard-clusters': DashboardClusters,
  'dashboard-held': DashboardHeld,
  'dashboard-object-life': DashboardObjectLife,
  'dashboard-owner-graph': DashboardOwnerGraph,
  'dashboard-fleet': DashboardFleet,
  'dashboard-freed': DashboardFreed,
  'dashboard-history': DashboardHistory,
  'dashboard-letter': DashboardLetterShown,
  'dashboard-letters': DashboardLetters,
  'dashboard-holders': DashboardHolders,
  'dashboard-images': DashboardImages,
  'dashboard-life': DashboardLife,
  'dashboard-listed': DashboardListed,
  'dashboard-news': DashboardNews,
  'dashboard-node': DashboardNode,
  'dashboard-nodes': DashboardNodes,
  'dashboard-object': DashboardObject,
  'dashboard-pauses': DashboardPauses,
  'dashboard-plan': DashboardPlan,
  'dashboard-policies': DashboardPolicies,
  'dashboard-policy': DashboardPolicy,
  'dashboard-policy-check': DashboardPolicyCheck,
  'dashboard-progress': DashboardProgress,
  'dashboard-report': DashboardReport,
  'dashboard-repository': DashboardRepository,
  'dashboard-returned': DashboardReturned,
  'dashboard-search': DashboardSearch,
  'dashboard-session': DashboardSession,
  'dashboard-simulation': DashboardSimulation,
  'dashboard-simulations': DashboardSimulations,
  'dashboard-status': DashboardStatus,
  held: HeldList,
  notice: NoticeEvent,
  'notice-rules': NoticeRules,
  plan: Plan,
  'plan-line': PlanLine,
  'plan-request': PlanRequest,
  'policy-list': PolicyList,
  'policy-shown': ShownPolicy,
  'fleet-nodes': FleetNodes,
  'fleet-status': FleetStatus,
  explanation: Explanation,
  'explanation-line': ExplanationLine,
};

/** Under which absolute names the schemas are published. Names, not addresses: a reader has the files, and asks nobody. */
const PUBLISHED_AS = 'https://fleetgc.io/schemas/';

/** Whether it describes what lies on the event log, whose document (AsyncAPI 3) knows this dialect of JSON Schema alone. */
const isOfTheLog = (name: string): boolean => isNumbered(name) || name === HEADERS;
const HEADERS = 'envelope-headers';
const isNumbered = (name: string): boolean => /\.v\d+$/.test(name);

/** What has no number in its name is of version 1. */
const idOf = (name: string): string => `${PUBLISHED_AS}${isNumbered(name) ? '' : 'v1/'}${schemaFileOf(name)}`;

export const schemaFileOf = (name: string): string => `${name}.schema.json`;
export const HEADERS_FILE = schemaFileOf(HEADERS);

/** The JSON Schema of a described value, as one writes it, before any default is filled in. */
function jsonSchemaOf(name: string, schema: z.ZodType): object {
  const target = isOfTheLog(name) ? 'draft-07' : 'draft-2020-12';
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: 'input', target });
  return { $schema, $id: idOf(name), title: name, ...rest };
}

/** File names and contents of all JSON Schemas. */
export function generateJsonSchemas(): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(DESCRIBED).map(([name, schema]) => [
      schemaFileOf(name),
      `${JSON.stringify(jsonSchemaOf(name, schema), null, 2)}\n`,
    ]),
  );
}

/** File names of what lies on the event log: every event, and the headers of all. */
export const FILES_OF_THE_LOG: readonly string[] = Object.keys(DESCRIBED)
  .filter(isOfTheLog)
  .map(schemaFileOf);
