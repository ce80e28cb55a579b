import type { Verb } from './framework/verb.ts';
import type { VerbName } from './framework/verb-list.ts';

/** Where the code of each verb is; read only when the verb is used. */
const LOADERS: Readonly<Record<VerbName, () => Promise<Verb>>> = {
  demo: async () => (await import('./verbs/demo.ts')).demo,
  'simulate-node': async () => (await import('./verbs/simulate-node.ts')).simulateNode,
  'simulate-fleet': async () => (await import('./verbs/simulate-fleet.ts')).simulateFleet,
  run: async () => (await import('./verbs/run.ts')).run,
  plan: async () => (await import('./verbs/plan.ts')).plan,
  node: async () => (await import('./verbs/node.ts')).node,
  'node-agent': async () => (await import('./verbs/node.ts')).nodeAgent,
  'node-executor': async () => (await import('./verbs/node.ts')).nodeExecutor,
  decide: async () => (await import('./verbs/deciders.ts')).decide,
  pressure: async () => (await import('./verbs/deciders.ts')).pressure,
  'container-gc': async () => (await import('./verbs/deciders.ts')).containerGc,
  'image-gc': async () => (await import('./verbs/deciders.ts')).imageGc,
  'topics create': async () => (await import('./verbs/topics/create.ts')).topicsCreate,
  'topics check': async () => (await import('./verbs/topics/check.ts')).topicsCheck,
  'policy validate': async () => (await import('./verbs/policy/validate.ts')).policyValidate,
  'policy from-kubelet': async () => (await import('./verbs/policy/from-kubelet.ts')).policyFromKubeletVerb,
  'policy apply': async () => (await import('./verbs/policy/apply.ts')).policyApply,
  'policy list': async () => (await import('./verbs/policy/list.ts')).policyList,
  'policy show': async () => (await import('./verbs/policy/show.ts')).policyShow,
  'policy effective': async () => (await import('./verbs/policy/effective.ts')).policyEffective,
  'policy delete': async () => (await import('./verbs/policy/delete.ts')).policyDelete,
  pause: async () => (await import('./verbs/pause.ts')).pause,
  resume: async () => (await import('./verbs/resume.ts')).resume,
  status: async () => (await import('./verbs/status.ts')).status,
  nodes: async () => (await import('./verbs/nodes.ts')).nodes,
  'audit verify': async () => (await import('./verbs/audit/verify.ts')).auditVerify,
  'audit explain': async () => (await import('./verbs/audit/explain.ts')).auditExplain,
  'audit simulate': async () => (await import('./verbs/audit/simulate.ts')).auditSimulate,
  'audit report': async () => (await import('./verbs/audit/report.ts')).auditReport,
  'audit archive': async () => (await import('./verbs/audit/archive.ts')).auditArchive,
  'audit archive check': async () => (await import('./verbs/audit/archive-check.ts')).auditArchiveCheck,
  'audit query': async () => (await import('./verbs/audit/query.ts')).auditQuery,
  'dead-letters list': async () => (await import('./verbs/dead-letters/list.ts')).deadLettersList,
  'dead-letters show': async () => (await import('./verbs/dead-letters/show.ts')).deadLettersShow,
  'dead-letters redrive': async () => (await import('./verbs/dead-letters/redrive.ts')).deadLettersRedrive,
};

const isListed = (name: string): name is VerbName => Object.hasOwn(LOADERS, name);

export async function loadVerb(name: string): Promise<Verb> {
  const load = isListed(name) ? LOADERS[name] : undefined;
  if (!load) throw new TypeError(`there is no code for the verb ${name}`);
  return await load();
}

export const loadAllVerbs = (): Promise<readonly Verb[]> =>
  Promise.all(Object.values(LOADERS).map((load) => load()));
