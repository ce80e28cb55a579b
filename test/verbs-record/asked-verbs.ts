/** What a verb is asked here. `@name` stands for the path of a file of this name. */
interface Asking {
  readonly args: readonly string[];
  /** Each form is asked for by itself; as the verb prints without `-o` in any case. */
  readonly forms?: readonly string[];
  /** It has no event log. */
  readonly isAlone?: true;
}

const DOCUMENTS = ['json', 'yaml'];
const PARTED = [...DOCUMENTS, 'ndjson'];
const OBJECTS = ['wide', 'name', ...DOCUMENTS];
const MANIFESTS = ['json', 'name'];
const REPORTS = ['html', ...PARTED];

const TRUSTING = ['--trust-roots', '@roots.yaml'];
const AS_ROOT = [...TRUSTING, '--root-key-file', '@root.pem'];
const SIGNING = ['--trust', 'required', ...TRUSTING, '--signing-key-file', '@operator.pem'];
const ARCHIVED = ['--log', 'archive', '--archive', '@archive'];
const CLUSTER = ['--kubeconfig', '@kubeconfig'];
/** Of several threads another one is first each time, and what is found first is told. */
const ONE_THREAD = ['--threads', '1'];
const DAY = ['--from', '1d'];

const HELP = 'its help alone: it goes on until it is told to stop';
const MACHINE = 'its help alone: it asks the machine that it runs on';
const RELEASE = 'its help alone: each commit has another answer';

/** By verb what it is asked, in this order, or why only its help is. What changes the log stands last. */
export const ASKED_VERBS: Readonly<Record<string, string | readonly Asking[]>> = {
  status: [
    { args: [], forms: DOCUMENTS },
    { args: TRUSTING, forms: DOCUMENTS },
  ],
  nodes: [
    { args: [], forms: OBJECTS },
    { args: TRUSTING, forms: DOCUMENTS },
  ],
  held: [
    { args: [], forms: DOCUMENTS },
    { args: ['--cluster', 'c1', ...TRUSTING], forms: DOCUMENTS },
  ],
  'cluster report': [
    { args: [], forms: DOCUMENTS },
    { args: ['--cluster', 'c1'], forms: DOCUMENTS },
  ],
  'policy list': [
    { args: [], forms: OBJECTS },
    { args: TRUSTING, forms: DOCUMENTS },
  ],
  'policy show': [
    { args: ['default'], forms: DOCUMENTS },
    { args: ['default', '--as-written'] },
    { args: ['cluster/default'], forms: DOCUMENTS },
    { args: ['nobody'] },
  ],
  'policy effective': [
    { args: ['--cluster', 'prod', '--node', 'web-1'], forms: OBJECTS },
    { args: ['--cluster', 'test', '--node', 'db-12', '--label', 'fleetgc.io/pool=gpu'], forms: DOCUMENTS },
    { args: ['--cluster', 'prod', '--node', 'web-1', '--policy', '@policy.yaml'], forms: DOCUMENTS },
  ],
  'policy export': [{ args: ['--file', '-'] }],
  'policy validate': [
    { args: ['@policy.yaml'], isAlone: true, forms: DOCUMENTS },
    { args: ['@clusters.yaml'], isAlone: true, forms: DOCUMENTS },
    { args: ['@wrong.yaml'], isAlone: true, forms: DOCUMENTS },
  ],
  'policy from-kubelet': [{ args: ['@kubelet.yaml'], isAlone: true }],
  plan: [
    { args: ['--inventory', '@inventory.json'], isAlone: true, forms: PARTED },
    { args: ['--inventory', '@inventory.json', '--policy', '@policy.yaml'], isAlone: true, forms: PARTED },
  ],
  'dead-letters list': [{ args: [], forms: OBJECTS }],
  'dead-letters show': [
    { args: ['@first-letter'], forms: DOCUMENTS },
    { args: ['@second-letter'], forms: DOCUMENTS },
    { args: ['nobody'] },
  ],
  'audit events': [{ args: [] }, { args: ['--topic', 'gc.node.commands', '--key', 'prod/web-1'] }],
  'audit explain': [
    { args: ['app/a:1'], forms: PARTED },
    { args: ['app/live:1'], forms: PARTED },
    { args: ['app/stuck:1'], forms: PARTED },
    { args: ['app/other:1'], forms: PARTED },
    { args: ['node/prod/web-1'], forms: PARTED },
    { args: ['pod/dead'], forms: PARTED },
    { args: ['live/app#0'], forms: PARTED },
    { args: ['live'] },
    { args: ['app/a:1', '--at', '30m'], forms: PARTED },
    { args: ['ReplicaSet/ns/web-1'], forms: PARTED },
    { args: ['object/pod-a'], forms: PARTED },
    { args: ['Secret/ns/web-tls', '--cluster', 'c1'], forms: PARTED },
    { args: ['ConfigMap/ns/acme-1'], forms: PARTED },
    { args: ['nobody'] },
  ],
  'audit verify': [
    { args: [...DAY, ...ONE_THREAD], forms: PARTED },
    { args: [...DAY, ...ONE_THREAD, ...TRUSTING, '--require-heads', '--trust-facts', 'warn'], forms: PARTED },
    { args: [...DAY, ...ONE_THREAD, '--to', '10m'], forms: PARTED },
  ],
  'audit report': [
    { args: [], forms: REPORTS },
    { args: ['--part', 'dry-run'], forms: ['html'] },
    { args: ['--from', '30m', '--to', '10m'], forms: PARTED },
    { args: ['--from', '2020-01-01', '--to', '2020-01-02'] },
  ],
  'audit simulate': [
    { args: ['--policy', '@policy.yaml', ...DAY], forms: PARTED },
    { args: ['--policy', '@policy.yaml', '--against', '@other.yaml', ...DAY], forms: PARTED },
    { args: ['--policy', '@clusters.yaml', '--cluster', 'c1', ...DAY], forms: DOCUMENTS },
  ],
  'topics check': [{ args: [], forms: DOCUMENTS }],
  'topics acls': [
    {
      args: ['--node-principal', 'User:nodes', '--operator-principal', 'User:people'],
      isAlone: true,
      forms: DOCUMENTS,
    },
  ],
  'keys list': [{ args: TRUSTING, forms: OBJECTS }],
  'keys check': [{ args: TRUSTING, forms: DOCUMENTS }],
  'keys verify': [{ args: ['@events.ndjson', ...TRUSTING], forms: ['ndjson'] }],
  'doctor decide': [{ args: [], forms: DOCUMENTS }],
  undo: [
    { args: ['c1'], forms: MANIFESTS },
    { args: ['c2'], forms: MANIFESTS },
  ],
  'cluster plan': [{ args: [...CLUSTER, '--policy', '@clusters.yaml'], isAlone: true, forms: DOCUMENTS }],
  cascade: [
    { args: ['Deployment/shop/web', ...CLUSTER], isAlone: true, forms: DOCUMENTS },
    { args: ['Namespace/shop', ...CLUSTER], isAlone: true, forms: DOCUMENTS },
  ],
  'cluster leftovers': [{ args: CLUSTER, isAlone: true, forms: DOCUMENTS }],
  'cluster rbac': [
    { args: [...CLUSTER, '--policy', '@clusters.yaml'], isAlone: true, forms: MANIFESTS },
    { args: [...CLUSTER, '--part', 'agent'], isAlone: true },
  ],
  'cluster guard': [{ args: ['--policy', '@clusters.yaml'], isAlone: true, forms: MANIFESTS }],
  'notify check': [{ args: ['@rules.yaml'], isAlone: true, forms: DOCUMENTS }],
  'notify rbac': [{ args: [], isAlone: true, forms: MANIFESTS }],
  completion: ['bash', 'zsh', 'fish'].map((shell) => ({ args: [shell], isAlone: true })),
  'audit archive': [{ args: ['--to', '@archive'], forms: DOCUMENTS }],
  'audit archive check': [{ args: ['--archive', '@archive'], isAlone: true, forms: DOCUMENTS }],
  'audit query': [
    {
      args: [
        'SELECT topic, count(*) AS records FROM records GROUP BY ALL ORDER BY ALL',
        '--archive',
        '@archive',
      ],
      isAlone: true,
      forms: ['ndjson'],
    },
  ],
  'keys create': [{ args: ['@made.pem'], isAlone: true }],
  'keys roots': [{ args: ['--fleet', 'prod', '--root', 'first=@public'], isAlone: true }],
  'keys certify': [
    {
      args: [
        '@public',
        '--role',
        'operator',
        '--name',
        'carol',
        '--valid-for',
        '1d',
        '--offline',
        ...AS_ROOT,
      ],
    },
    { args: ['@public', '--role', 'operator', '--name', 'carol', '--valid-for', '1d', ...AS_ROOT] },
  ],
  'keys publish': [{ args: ['@statements.json', ...TRUSTING] }],
  'policy sign': [{ args: ['--dry-run', ...SIGNING] }],
  approve: [
    { args: ['c1', 'tenant', '--objects', '8', '--dry-run'] },
    { args: ['c1', 'tenant', '--objects', '8', ...SIGNING] },
    { args: ['c1', 'tenant', '--objects', '8', '--allow-unsigned'] },
  ],
  pause: [{ args: ['--reason', 'an incident', '--node-name', 'web-1', ...SIGNING] }],
  resume: [{ args: ['--all', ...SIGNING] }],
  'policy apply': [
    { args: ['@policy.yaml', '--dry-run', ...SIGNING] },
    { args: ['@policy.yaml', '@clusters.yaml', ...SIGNING] },
    { args: ['@wrong.yaml', ...SIGNING] },
  ],
  'policy delete': [{ args: ['nobody', ...SIGNING] }, { args: ['tried', ...SIGNING] }],
  'dead-letters redrive': [{ args: ['--all', '--dry-run'] }, { args: ['--all'] }],
  'keys revoke': [{ args: ['@operator-id', '--reason', 'lost', ...AS_ROOT] }],
  'topics create': [{ args: [], forms: DOCUMENTS }],
  run: HELP,
  'cluster run': HELP,
  demo: HELP,
  'simulate-fleet': HELP,
  'doctor node': MACHINE,
  'doctor cluster': MACHINE,
  version: RELEASE,
};

/** What an archive is asked as a log is; the same answers are expected of it. */
export const ASKED_ARCHIVE: readonly (readonly string[])[] = [
  ['audit', 'report', '-o', 'json', ...ARCHIVED],
  ['audit', 'verify', ...DAY, ...ONE_THREAD, '-o', 'json', ...ARCHIVED],
  ['audit', 'explain', 'app/a:1', '-o', 'json', ...ARCHIVED],
  ['audit', 'explain', 'object/pod-a', '-o', 'json', ...ARCHIVED],
  ['audit', 'simulate', '--policy', '@policy.yaml', ...DAY, '-o', 'json', ...ARCHIVED],
];
