import type { PolicyFile } from '../../../../schemas/policy/policy-file.ts';
import { fleetgc } from '../../../cli/fleetgc.ts';
import { type Broker, startBroker } from '../../../support/kafka/kafka.ts';
import { createNetwork, type TestNetwork } from '../../../support/network.ts';
import { type Registry, startRegistry } from '../../../support/nodes/registry.ts';
import { type Service, startService } from '../../../support/service.ts';
import { ensureToolchain } from '../../../support/toolchain/toolchain.ts';
import {
  type FleetKubeletNode,
  type FleetKubeletNodeOptions,
  startFleetKubeletNode,
} from '../kubelet/fleet-kubelet-node.ts';
import { type FleetLog, followFleet } from './fleet-log.ts';
import { type FleetNode, type FleetNodeOptions, startFleetNode } from './fleet-node.ts';

const SHOWN_CHARACTERS = 3000;

/** A broker with all topics, a registry, decision services and nodes, as many as a test wants. */
export interface Fleet extends AsyncDisposable {
  readonly network: TestNetwork;
  readonly broker: Broker;
  readonly registry: Registry;
  readonly log: FleetLog;
  /** Runs a verb against the broker as an operator does; resolves to its stdout, rejects unless it ends with 0. */
  cli(args: readonly string[], stdin?: string): Promise<string>;
  /** `fleetgc policy apply` of one policy. */
  apply(policy: PolicyFile): Promise<void>;
  /** One more replica of `image-gc`, `decide` …, in a container from our own image; resolves when it is ready. */
  startService(...command: readonly string[]): Promise<Service>;
  /** A node with a real containerd on which `fleetgc node` runs. */
  startNode(options: FleetNodeOptions): Promise<FleetNode>;
  /** The same with the real kubelet beside them. */
  startKubeletNode(options: FleetKubeletNodeOptions): Promise<FleetKubeletNode>;
}

export interface FleetOptions {
  readonly services?: readonly string[];
}

/** Starts all but nodes and policies. `services` are the verbs to run, one replica each: by default all in one process. */
export async function startFleet({ services = ['decide'] }: FleetOptions = {}): Promise<Fleet> {
  await using starting = new AsyncDisposableStack();
  const stack = starting.use(new AsyncDisposableStack());
  const network = stack.use(await createNetwork());
  const [broker, registry] = await Promise.all([
    startBroker({ network }).then((started) => stack.use(started)),
    startRegistry(network).then((started) => stack.use(started)),
    // Each service asks for it too, and waits for no build then.
    ensureToolchain(['service', 'containerd']),
  ]);
  const fleet = await furnish({ network, broker, registry, stack });
  await Promise.all(services.map((verb) => fleet.startService(verb)));
  starting.move();
  return { ...fleet, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

interface FleetParts {
  readonly network: TestNetwork;
  readonly broker: Broker;
  readonly registry: Registry;
  readonly stack: AsyncDisposableStack;
}

async function furnish({
  network,
  broker,
  registry,
  stack,
}: FleetParts): Promise<Omit<Fleet, typeof Symbol.asyncDispose>> {
  const outputs: { readonly name: string; readonly output: () => Promise<string> | string }[] = [];
  const said = async (): Promise<string> =>
    (
      await Promise.all(
        outputs.map(
          async ({ name, output }) => `${name} said last:\n${(await output()).slice(-SHOWN_CHARACTERS)}`,
        ),
      )
    ).join('\n');
  const cli: Fleet['cli'] = async (args, stdin = '') => {
    const environment = {
      FLEETGC_KAFKA_BROKERS: broker.address,
      FLEETGC_KAFKA_REPLICATION_FACTOR: '1',
      FLEETGC_TRUST: 'off',
    };
    const { exitCode, stdout, stderr } = await fleetgc(args, { environment, stdin });
    if (exitCode !== 0) throw new Error(`fleetgc ${args.join(' ')} ended with ${exitCode}: ${stderr}`);
    return stdout;
  };
  await cli(['topics', 'create']);
  const log = stack.use(await followFleet({ brokers: [broker.address] }, said));
  const environment = {
    FLEETGC_KAFKA_BROKERS: broker.internalAddress,
    FLEETGC_TRUST: 'off',
    FLEETGC_KAFKA_REPLICATION_FACTOR: '1',
  };
  return {
    network,
    broker,
    registry,
    log,
    cli,
    apply: async (policy) => void (await cli(['policy', 'apply', '-'], JSON.stringify(policy))),
    startService: async (...command) => {
      const service = stack.use(await startService({ network, command, environment }));
      outputs.push({ name: command.join(' '), output: service.output });
      await service.ready();
      return service;
    },
    startNode: async (options) => {
      const node = stack.use(await startFleetNode({ network, log, environment }, options));
      outputs.push({ name: node.name, output: node.output });
      return node;
    },
    startKubeletNode: async (options) => {
      const node = stack.use(await startFleetKubeletNode({ network, log, environment }, options));
      outputs.push({ name: node.name, output: node.output });
      outputs.push({ name: `the kubelet of ${node.name}`, output: node.kubelet.output });
      return node;
    },
  };
}
