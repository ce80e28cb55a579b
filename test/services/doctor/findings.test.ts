import { describe, expect, test } from 'vitest';
import { rightsOf } from '../../../packages/log/access/access-rules.ts';
import type { TopicRights } from '../../../packages/log/access/own-rights.ts';
import type { TopicDifference } from '../../../packages/log/port.ts';
import { readKubeletFile } from '../../../packages/policy/from-kubelet/from-kubelet.ts';
import { type ErrorCode, FleetGcError } from '../../../packages/process/errors.ts';
import type { FilesystemReading } from '../../../schemas/events/filesystem.ts';
import type { Selection } from '../../../schemas/policy/policy-selection.ts';
import type { Finding, Looked } from '../../../services/doctor/checks.ts';
import { policiesFinding, servicesFinding } from '../../../services/doctor/decider.ts';
import {
  clockFinding,
  eventLogFinding,
  keysFinding,
  policyFinding,
  rightsFinding,
  topicsFinding,
} from '../../../services/doctor/log-findings.ts';
import {
  filesystemsFinding,
  imageLayersFinding,
  kubeletFinding,
  kubeletSettingsFinding,
  localFileFinding,
  machineIdFinding,
  nameFinding,
  podLogsFinding,
  runtimeFinding,
  stateDirectoryFinding,
  stateLockFinding,
  userFinding,
} from '../../../services/doctor/node-findings.ts';
import { NO_LOCAL_RULES } from '../../../services/node/executor/local-rules.ts';
import { EVERY_NODE, pauseRecord, policy, policyRecord } from '../../fixtures/policy.ts';
import { MINUTE, NOW } from '../../fixtures/time.ts';

const seen = <T>(value: T): Looked<T> => ({ ok: true, value });
const failed = (code: ErrorCode, message = 'it does not answer'): Looked<never> => ({
  ok: false,
  error: new FleetGcError(code, message),
});

interface Row {
  readonly name: string;
  readonly finding: Finding;
  readonly outcome: Finding['outcome'];
  readonly says: RegExp;
  /** Of what to do; none where there is nothing. */
  readonly todo?: RegExp;
}

const table = (rows: readonly Row[]): void => {
  test.each(rows)('$name', ({ finding, outcome, says, todo }) => {
    expect(finding.outcome).toBe(outcome);
    expect(finding.seen).toMatch(says);
    if (todo === undefined) expect(finding.todo).toBeNull();
    else expect(finding.todo).toMatch(todo);
  });
};

const runtime = (name: string, version: string, runtimeReady = true) =>
  runtimeFinding(
    seen({
      endpoint: '/run/r.sock',
      version: { name, version, apiVersion: 'v1' },
      status: { runtimeReady, sandboxImage: '' },
    }),
  );
const reading = (available: bigint): FilesystemReading => ({
  mountpoint: '/var',
  device: '1',
  capacityBytes: '1000',
  availableBytes: String(available),
  inodes: null,
  inodesFree: null,
});
const disks = (imagefs: FilesystemReading | null) =>
  filesystemsFinding(
    seen({
      readings: { nodefs: reading(500n), imagefs, containerfs: reading(500n) },
      named: {
        image: [{ mountpoint: '/var/lib/containerd', usedBytes: null, inodesUsed: null }],
        container: [],
      },
      unmeasured: imagefs === null ? ['The filesystem imagefs cannot be measured: ENOENT.'] : [],
    }),
  );

describe('the runtime', () => {
  table([
    {
      name: 'well',
      finding: runtime('containerd', 'v2.4.0'),
      outcome: 'ok',
      says: /^containerd v2\.4\.0, CRI v1, at/,
    },
    { name: 'oldest', finding: runtime('containerd', '1.6.33'), outcome: 'ok', says: /1\.6\.33/ },
    {
      name: 'too old',
      finding: runtime('containerd', '1.5.9'),
      outcome: 'warning',
      says: /1\.5\.9/,
      todo: /1\.6 and later/,
    },
    {
      name: 'unreadable version',
      finding: runtime('containerd', 'main'),
      outcome: 'warning',
      says: /main/,
      todo: /1\.6/,
    },
    {
      name: 'another runtime',
      finding: runtime('isulad', '2.1.0'),
      outcome: 'warning',
      says: /isulad/,
      todo: /dry-run/,
    },
    { name: 'CRI-O', finding: runtime('cri-o', '1.34.0'), outcome: 'ok', says: /cri-o 1\.34/ },
    {
      name: 'an older CRI-O',
      finding: runtime('cri-o', '1.33.4'),
      outcome: 'warning',
      says: /1\.33\.4/,
      todo: /cri-o 1\.34 and later/,
    },
    {
      name: 'not ready',
      finding: runtime('containerd', '2.4.0', false),
      outcome: 'problem',
      says: /not ready/,
      todo: /logs/,
    },
    {
      name: 'silent',
      finding: runtimeFinding(failed('RUNTIME_TIMEOUT')),
      outcome: 'problem',
      says: /does not answer/,
      todo: /Nothing is removed/,
    },
  ]);
});

describe('what containerd tells beside CRI', () => {
  const runtimeOf = (version: string, endpoint = '/run/containerd/containerd.sock') =>
    seen({
      endpoint,
      version: { name: 'containerd', version, apiVersion: 'v1' },
      status: { runtimeReady: true, networkReady: true, sandboxImage: '' },
    });
  const well = { images: seen(3), runtime: runtimeOf('v2.1.5') };
  table([
    { name: 'well', finding: imageLayersFinding(true, well), outcome: 'ok', says: /3 names/ },
    {
      name: 'not wanted',
      finding: imageLayersFinding(false, well),
      outcome: 'skipped',
      says: /--no-image-layers/,
    },
    {
      name: 'no runtime',
      finding: imageLayersFinding(true, { ...well, runtime: failed('RUNTIME_MISSING') }),
      outcome: 'skipped',
      says: /see runtime/,
    },
    {
      name: 'the version of K3s',
      finding: imageLayersFinding(true, { ...well, runtime: runtimeOf('v2.1.5-k3s1') }),
      outcome: 'warning',
      says: /v2\.1\.5-k3s1.*K3s or RKE2.*cannot tell/,
      todo: /keep\.images.*keep\.unpullable: false/,
    },
    {
      name: 'the socket of K3s, also where containerd’s own API is not asked',
      finding: imageLayersFinding(false, {
        ...well,
        runtime: runtimeOf('v2.1.5', 'unix:///run/k3s/containerd/containerd.sock'),
      }),
      outcome: 'warning',
      says: /\/run\/k3s\/.*K3s or RKE2/,
      todo: /keep\.images/,
    },
    {
      name: 'no such API',
      finding: imageLayersFinding(true, { ...well, images: failed('RUNTIME_UNSUPPORTED') }),
      outcome: 'warning',
      says: /no API of containerd/,
      todo: /Keep by name.*--no-image-layers/,
    },
    {
      name: 'no answer',
      finding: imageLayersFinding(true, { ...well, images: failed('RUNTIME_TIMEOUT') }),
      outcome: 'warning',
      says: /does not answer/,
      todo: /listed sizes/,
    },
  ]);
});

describe('filesystems', () => {
  table([
    { name: 'well', finding: disks(reading(500n)), outcome: 'ok', says: /imagefs 50 % used/ },
    {
      name: 'full',
      finding: disks(reading(50n)),
      outcome: 'warning',
      says: /imagefs 95 % used/,
      todo: /fleetgc plan/,
    },
    {
      name: 'not measured',
      finding: disks(null),
      outcome: 'problem',
      says: /imagefs cannot be measured.*\/var\/lib\/containerd.*ENOENT/,
      todo: /Mount the path/,
    },
    {
      name: 'of a silent runtime',
      finding: filesystemsFinding(failed('RUNTIME_MISSING')),
      outcome: 'skipped',
      says: /see runtime/,
    },
  ]);
});

describe('the kubelet', () => {
  const URL = 'https://127.0.0.1:10250';
  const pods = (haveDelivered: boolean, proxy: string | null = null) =>
    seen({ pods: 12, haveDelivered, sources: ['api', 'file'], proxy });
  table([
    {
      name: 'not configured',
      finding: kubeletFinding(undefined, null),
      outcome: 'skipped',
      says: /--kubelet-url/,
    },
    { name: 'well', finding: kubeletFinding(URL, pods(true)), outcome: 'ok', says: /12 pods/ },
    {
      name: 'a source without pods',
      finding: kubeletFinding(URL, pods(false)),
      outcome: 'warning',
      says: /api, file/,
      todo: /--pod-sources/,
    },
    {
      name: 'a proxy before the kubelet',
      finding: kubeletFinding(URL, pods(true, 'nginx/1.22')),
      outcome: 'warning',
      says: /12 pods.*nginx\/1\.22/,
      todo: /closes idle connections/,
    },
    {
      name: 'refuses',
      finding: kubeletFinding(URL, failed('PODS_UNREADABLE', 'HTTP 403')),
      outcome: 'problem',
      says: /403/,
      todo: /right to list pods/,
    },
  ]);

  const settings = (text: string | null, high: number | null) =>
    kubeletSettingsFinding('config.yaml', seen(text), {
      read: (content) => readKubeletFile({ file: 'config.yaml', text: content }),
      policy: high === null ? null : policy({ imageGCHighThresholdPercent: high }),
    });
  const HEAD = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
  table([
    {
      name: 'settings: none',
      finding: settings(null, 75),
      outcome: 'skipped',
      says: /There is no config\.yaml/,
    },
    { name: 'settings: no policy', finding: settings(HEAD, null), outcome: 'ok', says: /at 85 %$/ },
    {
      name: 'settings: FleetGC first',
      finding: settings(HEAD, 75),
      outcome: 'ok',
      says: /85 %, and FleetGC at 75 %/,
    },
    {
      name: 'settings: the kubelet first',
      finding: settings(`${HEAD}imageGCHighThresholdPercent: 70\nimageGCLowThresholdPercent: 60\n`, 75),
      outcome: 'warning',
      says: /70 %, and FleetGC at 75 %/,
      todo: /lower/,
    },
    {
      name: 'settings: both at once',
      finding: settings(HEAD, 85),
      outcome: 'warning',
      says: /85 %/,
      todo: /begin first/,
    },
    {
      name: 'settings: by age',
      finding: settings(`${HEAD}imageMaximumGCAge: 168h\n`, 75),
      outcome: 'warning',
      says: /168h/,
      todo: /0s/,
    },
    {
      name: 'settings: age 0',
      finding: settings(`${HEAD}imageMaximumGCAge: 0s\n`, 75),
      outcome: 'ok',
      says: /75 %/,
    },
    {
      name: 'settings: no configuration',
      finding: settings('kind: Pod\n', 75),
      outcome: 'warning',
      says: /is not a configuration/,
      todo: /from-kubelet/,
    },
    {
      name: 'settings: unreadable',
      finding: kubeletSettingsFinding('c', failed('NOT_FOUND', 'permission denied'), {
        read: () => {
          throw new Error('not read');
        },
        policy: null,
      }),
      outcome: 'skipped',
      says: /permission denied/,
    },
  ]);
});

describe('the machine', () => {
  const state = {
    path: '/s',
    state: 'usable',
    availableBytes: 10n ** 9n,
    files: 7,
    history: seen(null),
  } as const;
  const holder = (role: 'agent' | 'executor') => ({ role, pid: 12, command: 'node cli.mjs node' });
  const LOCAL = { path: '/s/node.yaml', isNamed: false };
  table([
    { name: 'root', finding: userFinding(0), outcome: 'ok', says: /root/ },
    { name: 'another user', finding: userFinding(1000), outcome: 'warning', says: /1000/, todo: /sudo/ },
    {
      name: 'a name',
      finding: nameFinding(seen({ cluster: 'prod', node: 'web-1', labels: { role: 'web' } })),
      outcome: 'ok',
      says: /^prod\/web-1, labels role=web$/,
    },
    {
      name: 'no name',
      finding: nameFinding(failed('CONFIG_INVALID', '--cluster is missing')),
      outcome: 'problem',
      says: /--cluster/,
      todo: /does not start/,
    },
    {
      name: 'a machine id',
      finding: machineIdFinding('/etc/machine-id', seen('a')),
      outcome: 'ok',
      says: /holds one/,
    },
    {
      name: 'no machine id',
      finding: machineIdFinding('/etc/machine-id', failed('CONFIG_INVALID')),
      outcome: 'problem',
      says: /./,
      todo: /--machine-id-file/,
    },
    {
      name: 'pod logs',
      finding: podLogsFinding([
        { path: '/l', state: 'usable' },
        { path: '/m', state: 'not-writable' },
      ]),
      outcome: 'ok',
      says: /\/l and \/m can be read/,
    },
    {
      name: 'no pod logs',
      finding: podLogsFinding([{ path: '/l', state: 'missing' }]),
      outcome: 'warning',
      says: /is not there/,
      todo: /--pod-logs-dir/,
    },
    {
      name: 'a state directory',
      finding: stateDirectoryFinding(state),
      outcome: 'ok',
      says: /^\/s, 7 files, 1\.0 GB available$/,
    },
    {
      name: 'none yet',
      finding: stateDirectoryFinding({ ...state, state: 'missing' }),
      outcome: 'warning',
      says: /is not there/,
      todo: /first start/,
    },
    {
      name: 'not writable',
      finding: stateDirectoryFinding({ ...state, state: 'not-writable' }),
      outcome: 'problem',
      says: /cannot be written/,
      todo: /root/,
    },
    {
      name: 'damaged',
      finding: stateDirectoryFinding({ ...state, history: failed('STATE_UNREADABLE') }),
      outcome: 'problem',
      says: /./,
      todo: /troubleshoot/,
    },
    {
      name: 'no room to begin',
      finding: stateDirectoryFinding({ ...state, files: 0, availableBytes: 9_999_999n }),
      outcome: 'problem',
      says: /10 MB|9\.\d+ MB/,
      todo: /make room/,
    },
    {
      name: 'room that is nearly used up',
      finding: stateDirectoryFinding({ ...state, availableBytes: 200_000_000n }),
      outcome: 'warning',
      says: /200 MB available/,
      todo: /before it is full/,
    },
    {
      name: 'little room',
      finding: stateDirectoryFinding({ ...state, availableBytes: 9_999_999n }),
      outcome: 'warning',
      says: /MB/,
      todo: /Make room/,
    },
    {
      name: 'locks held',
      finding: stateLockFinding('/s', { holders: seen([holder('agent'), holder('executor')]), others: [] }),
      outcome: 'ok',
      says: /^agent: process 12 node cli\.mjs node; executor: process 12/,
    },
    {
      name: 'one lock held',
      finding: stateLockFinding('/s', { holders: seen([holder('agent')]), others: [] }),
      outcome: 'warning',
      says: /executor: nobody/,
      todo: /start it/,
    },
    {
      name: 'another executor on the same runtime',
      finding: stateLockFinding('/s', {
        holders: seen([holder('agent'), holder('executor')]),
        others: [{ pid: 7, command: 'fleetgc run', stateDirectory: '/other' }],
      }),
      outcome: 'warning',
      says: /another executor on this runtime: process 7 \(fleetgc run\), with the state directory \/other$/,
      todo: /one executor for each container runtime/,
    },
    {
      name: 'locks hidden',
      finding: stateLockFinding('/s', { holders: failed('INTERNAL'), others: [] }),
      outcome: 'skipped',
      says: /cannot be seen/,
    },
    {
      name: 'no local file',
      finding: localFileFinding(LOCAL, null),
      outcome: 'ok',
      says: /restricts nothing/,
    },
    {
      name: 'a named local file that is missing',
      finding: localFileFinding({ ...LOCAL, isNamed: true }, null),
      outcome: 'problem',
      says: /is missing/,
      todo: /Put it back/,
    },
    {
      name: 'a local file that holds',
      finding: localFileFinding(LOCAL, { ...NO_LOCAL_RULES, hold: true }),
      outcome: 'warning',
      says: /hold: true/,
      todo: /hold: false/,
    },
    {
      name: 'a local file that nobody understands',
      finding: localFileFinding(LOCAL, { kind: 'held', message: 'no YAML' }),
      outcome: 'problem',
      says: /no YAML/,
      todo: /is corrected/,
    },
    {
      name: 'a local file that limits',
      finding: localFileFinding(LOCAL, { ...NO_LOCAL_RULES, maxRemovalsPerHour: 5 }),
      outcome: 'ok',
      says: /at most 5 removals an hour/,
    },
  ]);
});

describe('the event log', () => {
  const all: ReadonlyMap<string, TopicRights> = new Map(
    rightsOf('node').map(({ resource }) => [
      resource.name,
      {
        kind: 'known',
        operations: new Set(
          rightsOf('node')
            .filter((right) => right.resource.name === resource.name)
            .map(({ operation }) => operation),
        ),
      },
    ]),
  );
  const but = (topic: string, rights: TopicRights) => new Map([...all, [topic, rights]]);
  const differs = (kind: TopicDifference['kind']): TopicDifference => ({
    topic: 'gc.heads',
    name: 'gc.heads',
    kind,
    expected: 'a',
    found: 'b',
    message: 'Topic gc.heads differs.',
  });
  const hidden = new Map<string, TopicRights>([['gc.heads', { kind: 'hidden' }]]);
  table([
    { name: 'well', finding: eventLogFinding(seen(['kafka-1:9092']), ''), outcome: 'ok', says: /kafka-1/ },
    {
      name: 'well, with a prefix',
      finding: eventLogFinding(seen(['kafka-1:9092']), 'acme.'),
      outcome: 'ok',
      says: /^kafka-1:9092, names with the prefix acme\.$/,
    },
    {
      name: 'a topic without its right, with a prefix',
      finding: rightsFinding('node', seen(but('gc.keys', { kind: 'hidden' })), 'acme.'),
      outcome: 'problem',
      says: /may not Read acme\.gc\.keys\.$/,
      todo: /topics acls --kafka-prefix acme\. --node-principal/,
    },
    {
      name: 'away',
      finding: eventLogFinding(failed('LOG_UNREACHABLE'), ''),
      outcome: 'problem',
      says: /./,
      todo: /kafka-is-away/,
    },
    {
      name: 'a wrong login',
      finding: eventLogFinding(failed('LOG_UNAUTHORIZED'), ''),
      outcome: 'problem',
      says: /./,
      todo: /login/,
    },
    {
      name: 'wrong settings',
      finding: eventLogFinding(failed('CONFIG_INVALID'), ''),
      outcome: 'problem',
      says: /./,
      todo: /Correct/,
    },
    {
      name: 'topics as declared',
      finding: topicsFinding(seen([]), null, ''),
      outcome: 'ok',
      says: /as declared/,
    },
    {
      name: 'a topic is missing',
      finding: topicsFinding(seen([differs('missing')]), all, ''),
      outcome: 'problem',
      says: /gc\.heads/,
      todo: /topics create/,
    },
    {
      name: 'a setting differs',
      finding: topicsFinding(seen([differs('config')]), all, ''),
      outcome: 'warning',
      says: /gc\.heads/,
      todo: /troubleshoot/,
    },
    {
      name: 'a single broker, with one copy',
      finding: topicsFinding(seen([differs('only-copy'), differs('only-copy')]), all, ''),
      outcome: 'warning',
      says: /^Topic gc\.heads differs\.$/,
      todo: /install\.md/,
    },
    {
      name: 'a single broker, with one copy, and a topic is missing',
      finding: topicsFinding(seen([differs('only-copy'), differs('missing')]), all, ''),
      outcome: 'problem',
      says: /gc\.heads/,
      todo: /topics create/,
    },
    {
      name: 'a topic that is kept for ever is deleted from',
      finding: topicsFinding(seen([differs('keeps-less')]), all, ''),
      outcome: 'problem',
      says: /gc\.heads/,
      todo: /troubleshoot/,
    },
    {
      name: 'a topic is hidden',
      finding: topicsFinding(seen([differs('missing')]), hidden, ''),
      outcome: 'ok',
      says: /declared/,
    },
    {
      name: 'settings hidden',
      finding: topicsFinding(failed('LOG_UNAUTHORIZED'), but('gc.keys', { kind: 'missing' }), ''),
      outcome: 'problem',
      says: /gc\.keys/,
      todo: /topics create/,
    },
    {
      name: 'settings hidden, and no topic missing',
      finding: topicsFinding(failed('LOG_UNAUTHORIZED'), all, ''),
      outcome: 'skipped',
      says: /topics check/,
    },
    { name: 'no rules', finding: rightsFinding('node', null, ''), outcome: 'skipped', says: /embedded/ },
    {
      name: 'all rights',
      finding: rightsFinding('node', seen(all), ''),
      outcome: 'ok',
      says: /all 9 rights/,
    },
    {
      name: 'a missing topic lacks no right',
      finding: rightsFinding('node', seen(but('gc.keys', { kind: 'missing' })), ''),
      outcome: 'ok',
      says: /rights/,
    },
    {
      name: 'a hidden topic',
      finding: rightsFinding('node', seen(but('gc.keys', { kind: 'hidden' })), ''),
      outcome: 'problem',
      says: /may not Read gc\.keys\.$/,
      todo: /--node-principal/,
    },
    {
      name: 'another right',
      finding: rightsFinding(
        'node',
        seen(but('gc.node.results', { kind: 'known', operations: new Set(['Read']) })),
        '',
      ),
      outcome: 'problem',
      says: /may not Write gc\.node\.results/,
      todo: /topics acls/,
    },
    {
      name: 'nobody says',
      finding: rightsFinding('node', failed('LOG_UNREACHABLE'), ''),
      outcome: 'skipped',
      says: /do not say/,
    },
    {
      name: 'a clock that is right',
      finding: clockFinding(seen({ nowMs: NOW, newestMs: NOW + 5 * MINUTE })),
      outcome: 'ok',
      says: /not behind/,
    },
    {
      name: 'a clock that is behind',
      finding: clockFinding(seen({ nowMs: NOW, newestMs: NOW + 6 * MINUTE })),
      outcome: 'problem',
      says: /6 min ahead/,
      todo: /chrony/,
    },
    {
      name: 'a clock that is ahead',
      finding: clockFinding(seen({ nowMs: NOW, newestMs: null, aheadMs: 6 * MINUTE })),
      outcome: 'warning',
      says: /6 min after .* by its clock/,
      todo: /chrony/,
    },
    {
      name: 'a clock that orders show to be right',
      finding: clockFinding(seen({ nowMs: NOW, newestMs: NOW, aheadMs: 5 * MINUTE })),
      outcome: 'ok',
      says: /within 5 min/,
    },
    {
      name: 'nothing to compare',
      finding: clockFinding(seen({ nowMs: NOW, newestMs: null })),
      outcome: 'skipped',
      says: /young enough/,
    },
  ]);
});

describe('what steers the node', () => {
  const none = { unreadable: [], lost: [], policies: 2, areSignaturesMissing: false };
  const found = (selection: Selection<'node'>, over = {}) =>
    policyFinding(seen({ ...none, selection, ...over }));
  const selected = (mode: 'enforce' | 'dry-run'): Selection<'node'> => ({
    kind: 'policy',
    record: policyRecord({ name: 'web', mode }),
  });
  const pause = pauseRecord({
    selector: { ...EVERY_NODE, clusters: ['prod'] },
    reason: 'moving house',
  });
  const keys = (problems: readonly string[]) => seen({ problems, keys: 2 });
  table([
    { name: 'enforce', finding: found(selected('enforce')), outcome: 'ok', says: /^web, mode enforce$/ },
    {
      name: 'signatures not looked at',
      finding: found(selected('enforce'), { areSignaturesMissing: true }),
      outcome: 'ok',
      says: /signature was not looked at/,
    },
    {
      name: 'dry-run',
      finding: found(selected('dry-run')),
      outcome: 'warning',
      says: /dry-run/,
      todo: /mode: enforce/,
    },
    {
      name: 'paused',
      finding: found({ kind: 'paused', pause }),
      outcome: 'warning',
      says: /moving house/,
      todo: /fleetgc resume --cluster prod/,
    },
    {
      name: 'not selected',
      finding: found({ kind: 'none' }),
      outcome: 'warning',
      says: /none of 2 policies/,
      todo: /effective/,
    },
    {
      name: 'no policy',
      finding: found({ kind: 'none' }, { policies: 0 }),
      outcome: 'warning',
      says: /no policy/,
      todo: /policy apply/,
    },
    {
      name: 'unreadable',
      finding: found(selected('enforce'), { unreadable: [{ key: 'web', message: 'no JSON', hold: null }] }),
      outcome: 'problem',
      says: /1 record of gc\.policies.*no JSON/,
      todo: /troubleshoot/,
    },
    {
      name: 'lost',
      finding: found(selected('enforce'), { lost: ['old'] }),
      outcome: 'problem',
      says: /lost old/,
      todo: /Apply it again/,
    },
    {
      name: 'policies not read',
      finding: policyFinding(failed('LOG_UNREACHABLE')),
      outcome: 'problem',
      says: /./,
      todo: /Nothing is removed/,
    },
    {
      name: 'no signatures',
      finding: keysFinding(seen('off'), null),
      outcome: 'skipped',
      says: /--trust off/,
    },
    {
      name: 'trust not chosen',
      finding: keysFinding(failed('CONFIG_INVALID', '--trust is missing'), null),
      outcome: 'problem',
      says: /--trust/,
      todo: /keys\.md/,
    },
    { name: 'good keys', finding: keysFinding(seen('required'), keys([])), outcome: 'ok', says: /2 keys/ },
    {
      name: 'no good key',
      finding: keysFinding(seen('required'), keys(['no key of role decider is valid now'])),
      outcome: 'problem',
      says: /decider/,
      todo: /keys check/,
    },
    {
      name: 'no good key, and it does not count yet',
      finding: keysFinding(seen('warn'), keys(['none'])),
      outcome: 'warning',
      says: /none/,
      todo: /keys check/,
    },
    {
      name: 'keys not read',
      finding: keysFinding(seen('required'), failed('KEYS_UNREADABLE')),
      outcome: 'problem',
      says: /./,
      todo: /Nothing counts/,
    },
  ]);
});

describe('what decision services share', () => {
  const group = (name: string, members: number) => ({
    group: `fleetgc-${name}`,
    members,
    lag: new Map(),
    waiting: [],
  });
  const policies = (over = {}) =>
    policiesFinding(seen({ nodes: 1, clusters: 0, pauses: new Map(), unreadable: [], lost: [], ...over }));
  const paused = new Map([['pause', { ...pauseRecord(), appliedAtMs: NOW }]]);
  table([
    {
      name: 'all run',
      finding: servicesFinding(seen([group('pressure', 2)])),
      outcome: 'ok',
      says: /^members: pressure 2$/,
    },
    {
      name: 'one does not run',
      finding: servicesFinding(seen([group('pressure', 2), group('image-gc', 0)])),
      outcome: 'warning',
      says: /image-gc 0/,
      todo: /as image-gc: start fleetgc decide/,
    },
    {
      name: 'groups hidden',
      finding: servicesFinding(failed('LOG_UNAUTHORIZED')),
      outcome: 'skipped',
      says: /Nobody knows/,
    },
    {
      name: 'policies',
      finding: policies(),
      outcome: 'ok',
      says: /^1 policy for nodes, 0 for clusters, 0 pauses$/,
    },
    {
      name: 'no policies',
      finding: policies({ nodes: 0 }),
      outcome: 'warning',
      says: /0 policies/,
      todo: /apply/,
    },
    {
      name: 'a pause',
      finding: policies({ pauses: paused }),
      outcome: 'warning',
      says: /1 pause/,
      todo: /resume/,
    },
    {
      name: 'an unreadable record',
      finding: policies({ unreadable: [{ key: 'web', message: 'no JSON', hold: null }] }),
      outcome: 'problem',
      says: /no JSON/,
      todo: /troubleshoot/,
    },
    {
      name: 'policies that nobody can read',
      finding: policiesFinding(failed('LOG_UNREACHABLE')),
      outcome: 'problem',
      says: /./,
      todo: /Nothing is removed/,
    },
  ]);
});
