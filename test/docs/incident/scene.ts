import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SimulatedNode } from '../../../lab/sim/node.ts';
import { linuxClock } from '../../../packages/machine/clock.ts';
import { type OwnLog, ownLog, withoutProgress } from '../../cli/fleetgc.ts';
import { type SpawnedVerb, spawnVerb } from '../../cli/service-process.ts';
import { PROGRAM, PROGRAM_ENVIRONMENT } from '../../support/program.ts';
import { simulatedNode } from '../../support/simulated-node.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';

const BOUND_MS = 20_000;
/** As the pages have them: the defaults of the verbs. */
const PORTS = { decide: '9640', node: '9641' } as const;

/** Whoever looks after a fleet, with a shell, in one directory with all its keys. */
export interface Scene {
  readonly own: OwnLog;
  readonly node: SimulatedNode;
  readonly file: (name: string) => string;
  /** What a command printed, on stdout and stderr, without the lines of progress that come where a machine is slow. Addresses of health and metrics are those of the services that run. */
  readonly shell: (command: string) => Promise<string>;
  /** Starts a service that requires signatures, as the page has its address from then on. */
  readonly start: (verb: keyof typeof PORTS, ...options: readonly string[]) => Promise<SpawnedVerb>;
}

export async function startScene(): Promise<Scene> {
  const own = await ownLog();
  const directory = temporaryDirectory();
  const file = (name: string): string => join(directory, name);
  const commands = file('commands');
  mkdirSync(commands);
  symlinkSync(PROGRAM, join(commands, 'fleetgc'));
  writeFileSync(join(commands, 'curl'), CURL, { mode: 0o755 });
  const environment = {
    ...PROGRAM_ENVIRONMENT,
    PATH: `${commands}:${PROGRAM_ENVIRONMENT.PATH}`,
    FLEETGC_LOG: 'embedded',
    FLEETGC_LOG_PATH: own.path,
  };
  const ports = new Map<string, string>();
  const shell = (command: string): Promise<string> => {
    const there = [...ports].reduce(
      (text, [told, real]) => text.replaceAll(`:${told}/`, `:${real}/`),
      command,
    );
    return new Promise((resolve) => {
      const inShell = ['-c', `exec 2>&1\n${there}`];
      // Some end with 1, since they found something.
      execFile('sh', inShell, { cwd: directory, env: environment }, (_, stdout) =>
        resolve(withoutProgress(stdout)),
      );
    });
  };
  const trust = ['--trust', 'required', '--trust-roots', file('roots.yaml')];
  const start: Scene['start'] = async (verb, ...options) => {
    const service = spawnVerb(verb, '--log', 'embedded', '--log-path', own.path, ...trust, ...options);
    const port = await waitUntil(`the port of ${verb}`, BOUND_MS, () => portIn(service));
    ports.set(PORTS[verb], port);
    return service;
  };
  const node = await simulatedNode({ hasContainerdApi: true, clock: linuxClock() });
  return { own, node, file, shell, start };
}

/** Of a machine that has none. */
const CURL = `#!/bin/sh
# Called as curl -s ADDRESS.
exec '${process.execPath}' -e 'process.stdout.write(await (await fetch("http://" + process.argv[1])).text())' "$2"
`;

const portIn = ({ output }: SpawnedVerb): string | null =>
  /"port":(\d+),"msg":"serving health and metrics"/.exec(output.stderr)?.[1] ?? null;

/** Where the simulated machine has what a node looks at. */
export function machineOptions({ node, file }: Pick<Scene, 'node' | 'file'>): readonly string[] {
  writeFileSync(file('machine-id'), '3d1219c7c4c5404aaa1f6d2a48adfda4\n');
  return [
    ...['--cluster', 'prod', '--node-name', 'web-1', '--runtime-endpoint', node.endpoint],
    ...['--state-directory', file('state'), '--machine-id-file', file('machine-id')],
    ...['--pod-logs-dir', node.podLogsDir, '--container-logs-dir', node.containerLogsDir],
  ];
}
