import { keepMatcher, type NamedImage, unpullableBecause } from '../../../schemas/policy/image-pattern.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { type FleetNode, type FleetPod, logDirectoryName } from './node.ts';
import { containersOf, type Removal } from './node-runtime.ts';

/** Why a removal was wrong, by what was so on the node at that moment. */
export type Wrong =
  | 'in-use'
  | 'wanted-by-pod'
  | 'pinned'
  | 'kept-by-policy'
  | 'younger-than-minimum-age'
  | 'running'
  | 'ready'
  | 'has-containers'
  | 'pod-is-known'
  | 'nothing-may-go';

export interface Moment {
  readonly node: FleetNode;
  /** By the time of the fleet. */
  readonly nowMs: number;
  /** What holds for the node; `null` where nothing may go: no policy, none in earnest, or a pause. */
  readonly policy: Policy | null;
}

/** What is wrong with taking this away now; looked at in what is there, and not in what anybody says of it. */
export function wrongsOf(removal: Removal, moment: Moment): readonly Wrong[] {
  const wrongs = WRONGS[removal.kind](removal.id, moment);
  return moment.policy === null ? ['nothing-may-go', ...wrongs] : wrongs;
}

type Check = (id: string, moment: Moment) => readonly Wrong[];

const WRONGS: Readonly<Record<Removal['kind'], Check>> = {
  image: (id, moment) => [...usesOf(id, moment.node), ...protectionOf(id, moment)],
  container: (id, moment) => ofContainer(id, moment),
  'stopped-container': () => ['running'],
  sandbox: (id, { node }) => ofSandbox(id, node),
  'stopped-sandbox': () => ['ready'],
  'pod-log-directory': (name, { node }) => ofLogs(name, node),
};

function usesOf(id: string, node: FleetNode): readonly Wrong[] {
  const pods = [...node.pods.values()];
  return [
    ...when(
      containersOf(node).some(({ image }) => image.id === id),
      'in-use',
    ),
    ...when(
      pods.some(({ listed, image }) => image.id === id && listed?.finished === false),
      'wanted-by-pod',
    ),
  ];
}

function protectionOf(id: string, { node, nowMs, policy }: Moment): readonly Wrong[] {
  const held = node.disk.images.get(id);
  if (held === undefined) return [];
  const { image, sinceMs } = held;
  return [
    ...when(image.listed.pinned, 'pinned'),
    ...(policy === null
      ? []
      : [
          ...when(isKept({ ...image.listed, labels: image.labels }, policy), 'kept-by-policy'),
          ...when(nowMs - sinceMs < policy.imageMinimumGCAgeMs, 'younger-than-minimum-age'),
        ]),
  ];
}

const isKept = (image: NamedImage, { keep }: Policy): boolean =>
  keepMatcher(keep).keptBy(image) !== undefined ||
  (keep.unpullable && unpullableBecause(image) !== undefined);

function ofContainer(id: string, { node, nowMs, policy }: Moment): readonly Wrong[] {
  const container = containersOf(node).find((one) => one.id === id);
  if (container === undefined) return [];
  const { finishedMs } = container;
  if (finishedMs === null) return ['running'];
  return when(
    policy !== null && nowMs - finishedMs < policy.minimumContainerTTLMs,
    'younger-than-minimum-age',
  );
}

function ofSandbox(id: string, node: FleetNode): readonly Wrong[] {
  const sandbox = [...node.pods.values()].flatMap(({ sandboxes }) => sandboxes).find((one) => one.id === id);
  return [
    ...when(sandbox?.state === 'ready', 'ready'),
    ...when(
      containersOf(node).some(({ listed }) => listed.sandboxId === id),
      'has-containers',
    ),
  ];
}

function ofLogs(name: string, { pods }: FleetNode): readonly Wrong[] {
  const pod = [...pods.values()].find((one) => logDirectoryName(one) === name);
  return when(pod !== undefined && isAlive(pod), 'pod-is-known');
}

/** The kubelet knows it and it is not over, or something of it runs. */
const isAlive = ({ listed, containers }: FleetPod): boolean =>
  listed?.finished === false || containers.some(({ finishedMs }) => finishedMs === null);

const when = (holds: boolean, wrong: Wrong): readonly Wrong[] => (holds ? [wrong] : []);
