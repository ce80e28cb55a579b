import type { VerbName } from './framework/verb-list.ts';

export interface Explanation {
  readonly text?: string;
  readonly examples: readonly string[];
}

/** What help says about a verb beyond its summary and its options. */
const BY_VERB: Readonly<Partial<Record<VerbName, Explanation>>> = {
  demo: {
    text: 'Needs neither a container runtime nor Kafka, and touches nothing but a directory of its own among the temporary files, which stays. At the end it says where the event log lies and what can be asked of it.',
    examples: ['fleetgc demo', 'fleetgc demo --duration 20s --json'],
  },
  'simulate-node': {
    text: 'Joins a fleet like any other node: its images, containers and disk are simulated, its CRI socket, its agent and its executor are real.',
    examples: ['fleetgc simulate-node --cluster demo --node-name node-1 --kafka-brokers kafka:9092'],
  },
  'simulate-fleet': {
    text: 'Thousands of nodes that live by the seed, with the agent and executor of real ones and a runtime in memory, on a real log. Decision services run beside it, as for any fleet. At the end, also after Ctrl-C, it prints an account as JSON: everything commanded, refused and removed, and what was wrong, lost or done twice, by the truth of each node. Unless these three are 0 it ends with exit status 1. Do not point it at a log of real nodes: their policies would hold for it, and its policies for them.',
    examples: [
      'fleetgc simulate-fleet --nodes 1000 --duration 10m --policy policy.yaml --kafka-brokers kafka:9092',
      'fleetgc simulate-fleet --nodes 30 --rate 20x --log embedded --log-path fleet.db --policy policy.yaml',
    ],
  },
  run: {
    text: 'Agent, decision services and executor in one process, with the event log in a file. Nothing is removed unless a policy given with --policy says "mode: enforce".',
    examples: [
      'fleetgc run',
      'fleetgc run --policy policy.yaml',
      'fleetgc run --policy policy.yaml --runtime-endpoint unix:///run/k3s/containerd/containerd.sock --json',
    ],
  },
  plan: {
    text: 'Decides as the services do, on one look at this machine or on an inventory that is given, and shows the plan: what goes, what stays, by which rule, and what it would free. The limits of a single command are left out, and every removal is taken to succeed. With -o ndjson every line of the input is answered with a line (docs/plan.md has the format).\n\nExit codes: 0 a plan was made, 1 something could not be planned (the runtime does not answer, an inventory is not complete, a line is wrong), 2 wrong options or an invalid policy.',
    examples: [
      'fleetgc plan',
      'fleetgc plan --policy policy.yaml --state-directory /var/lib/fleetgc',
      'fleetgc plan --policy policy.yaml --trigger eviction:imagefs.available --profile kubelet',
      'fleetgc plan --inventory inventory.json --policy policy.yaml -o json',
      'fleetgc plan -o ndjson < inventories.ndjson > plans.ndjson',
    ],
  },
  node: {
    text: 'Start it once on every node that FleetGC is to clean, as root. It removes nothing by itself: it carries out commands, and only what a second look still allows. A file of the node itself (--local-file) may forbid more, and no command can widen it.',
    examples: [
      'fleetgc node --cluster prod --kafka-brokers kafka-1:9092,kafka-2:9092',
      'fleetgc node --cluster prod --kafka-brokers kafka:9092 --kubelet-url https://127.0.0.1:10250 --kubelet-token-file token',
    ],
  },
  'node-agent': {
    text: 'The reading half of a node. Alone it lets you see what FleetGC would decide, with nothing on the node that could remove anything.',
    examples: ['fleetgc node-agent --cluster prod --kafka-brokers kafka:9092'],
  },
  'node-executor': {
    text: 'The removing half of a node. It shares the state directory with the agent of the same node, which has to run as well.',
    examples: ['fleetgc node-executor --cluster prod --kafka-brokers kafka:9092'],
  },
  decide: {
    text: 'The three decision services, for a fleet that one process can serve. Start as many as you like, here or there: they share the nodes among themselves.',
    examples: ['fleetgc decide --kafka-brokers kafka-1:9092,kafka-2:9092'],
  },
  pressure: {
    text: 'Reads disk statistics. Where a usage threshold or an eviction threshold of the policy is met, it orders the node to look and begins a reclaim.',
    examples: ['fleetgc pressure --kafka-brokers kafka:9092 --http-address 0.0.0.0:9640'],
  },
  'container-gc': {
    text: 'Reads inventories and sends commands to remove dead containers and sandboxes, where the policy says "mode: enforce". What it decided and why is recorded either way.',
    examples: ['fleetgc container-gc --kafka-brokers kafka:9092 --http-address 0.0.0.0:9640'],
  },
  'image-gc': {
    text: 'Reads inventories and sends commands to remove images, where the policy says "mode: enforce". What it decided and why is recorded either way.',
    examples: ['fleetgc image-gc --kafka-brokers kafka:9092 --http-address 0.0.0.0:9640'],
  },
  'topics create': {
    text: 'Run it once before anything else on Kafka. Existing topics are never changed: where one differs from what this release declares, that is said, and the exit code is 1.',
    examples: [
      'fleetgc topics create --kafka-brokers kafka-1:9092,kafka-2:9092',
      'fleetgc topics create --kafka-brokers kafka:9092 --wait 60s',
      'fleetgc topics create --log embedded --log-path ./fleetgc.db',
    ],
  },
  'topics check': {
    text: 'Changes nothing. The exit code is 1 when a topic is missing or differs.',
    examples: ['fleetgc topics check --kafka-brokers kafka:9092'],
  },
  'policy validate': {
    text: 'Tells every problem of every file at once, each with its line and column. The exit code is 2 when there is one.',
    examples: [
      'fleetgc policy validate policies/*.yaml',
      'fleetgc policy validate policy.yaml --output json',
    ],
  },
  'policy from-kubelet': {
    text: 'Prints a policy that does what the kubelet would do, and says what it took over and what it ignored. The file is read and checked as a kubelet does it; wrong values are told all at once, and the exit code is 2. The flags of the kubelet that its file cannot say are options here.',
    examples: [
      'fleetgc policy from-kubelet /var/lib/kubelet/config.yaml > policy.yaml',
      'fleetgc policy from-kubelet config.yaml --name workers --maximum-dead-containers 200',
    ],
  },
  'policy apply': {
    text: 'A policy replaces the one of the same name; other policies are left alone. Nothing is written when any of the files has a problem, or when nothing differs.',
    examples: [
      'fleetgc policy apply policy.yaml --dry-run',
      'fleetgc policy apply policies/*.yaml --kafka-brokers kafka:9092',
    ],
  },
  'policy list': {
    text: 'In the order in which a node asks them: of the policies that select a node, the first holds. A pause outranks them all.',
    examples: ['fleetgc policy list', 'fleetgc policy list --output json'],
  },
  'policy show': {
    text: 'What it prints is a policy file, and can be edited and applied.',
    examples: ['fleetgc policy show web', 'fleetgc policy show web --as-written'],
  },
  'policy effective': {
    text: 'Asks as the deciders do: pauses first, then priority, then name. Each value is written in the policy (the line is told), or a default. The other policies are named with what speaks against them. With --policy it looks at files instead of the event log, so a change can be tried before it is applied.',
    examples: [
      'fleetgc policy effective --cluster prod --node web-1 --label role=web,fleetgc.io/pool=gpu',
      'fleetgc policy effective --node web-1 --policy policies.yaml -o json',
    ],
  },
  'policy delete': {
    text: 'Where the policy held, the next one that selects the node holds from then on. A node without any keeps everything.',
    examples: ['fleetgc policy delete web'],
  },
  pause: {
    text: 'Without options it stops the whole fleet. Decisions are still made and recorded. Commands that were sent before are refused once a node has read of the pause, and in any case when they expire.',
    examples: [
      'fleetgc pause --reason "registry is down"',
      'fleetgc pause --cluster prod --node-name "db-*"',
      'fleetgc pause --pool gpu',
    ],
  },
  resume: {
    text: 'Ends the pause that was made with the same options.',
    examples: ['fleetgc resume', 'fleetgc resume --cluster prod --node-name "db-*"', 'fleetgc resume --all'],
  },
  status: {
    text: 'One look at the whole: what needs a person comes first, then brokers, topics, services with their replicas and their lag, policies, pauses, dead letters of the last day, and how many nodes are heard and silent. It reads the log and changes nothing. The exit code says only whether it could be read; problems are in the answer (docs/operations.md says what to do about each).',
    examples: ['fleetgc status', 'fleetgc status -o json', 'fleetgc status --log embedded'],
  },
  nodes: {
    text: 'Every node that was heard in the last day, by its newest disk statistics: when it was heard last, how full the filesystem of its images is (rounded up, and without what is reserved for root, as the kubelet counts), which policy holds for it and in which mode, its version, and warnings: a wrong clock, two machines with one name, a cluster name that looks misspelt, silence. It reads a few minutes of the log here and there, however large the fleet is.',
    examples: ['fleetgc nodes', 'fleetgc nodes -o wide', 'fleetgc nodes -o json --log embedded'],
  },
  'audit verify': {
    text: 'Each recorded decision is made again, by the decider of its own version and under its own policies, and compared byte for byte. Then the chain is followed both ways: each command was decided, each result was commanded, each command was answered. Exit code 0: all is verified. 1: something deviates. 3: nothing is wrong, but not all could be verified, and why. Times are those of the event log; the position of a record stands for the time at which it was written.',
    examples: [
      'fleetgc audit verify --from 24h',
      'fleetgc audit verify --from 2026-01-31 --to 2026-02-01 -o ndjson',
      'fleetgc audit verify --from gc.node.decisions/3@1042',
    ],
  },
  'audit explain': {
    text: 'Tells the life of one thing as the event log has it: seen, used, each change of what was decided with its rule, commanded, refused, removed, gone, back again. A name is looked for among images (name, tag, digest, id or its beginning), containers, pods and nodes; one of them alone is named as image/…, container/…, sandbox/…, pod/… or node/…. Nothing is written.\n\nExit codes: 0 explained, 1 nothing of that name is on the log, 2 the name means several things (they are listed), or wrong options.',
    examples: [
      'fleetgc audit explain registry.example/shop/web:1.4 --node web-1 --kafka-brokers kafka:9092',
      'fleetgc audit explain pod/shop-7f --from 24h',
      'fleetgc audit explain sha256:4f1c2a --at 2026-01-31T14:02:00Z',
      'fleetgc audit explain node/prod/web-1 --from 2h -o ndjson',
      'fleetgc audit explain web-1/app#0 --log embedded --log-path ./fleetgc.db',
    ],
  },
  'audit simulate': {
    text: 'Runs the policies of a file over the recorded inventories and compares with what happened, or with the policies of another file: what was removed of each kind, bytes freed, images that were needed again soon (regret), and time at or above the usage thresholds, per pool, per node and in all. Policies with mode dry-run are taken to enforce. Nothing is applied, and no node is asked. After the first difference a node is an estimate; the output says how it is estimated.\n\nExit codes: 0 a simulation was made, 3 the log has no inventory of that time and those nodes.',
    examples: [
      'fleetgc audit simulate --policy new.yaml --from 7d',
      'fleetgc audit simulate --policy new.yaml --against old.yaml --nodes web-1,web-2 --regret-window 2h -o json',
    ],
  },
  'audit report': {
    text: 'Sums up a week of the event log, or another time: what was freed as the nodes measured it, what was removed and refused and why, which nodes could not be relieved and what holds their space, which images were removed and pulled again, which policies were applied and deleted, what was paused, and what policies in dry-run would have removed, each object once (--part dry-run shows that page alone). markdown and html are for people, html as one file with plots and without scripts; json says the same for machines (schemas/generated/audit-report.schema.json).\n\nExit codes: 0 a report was made, 3 the log has no record of that time.',
    examples: [
      'fleetgc audit report',
      'fleetgc audit report --period 24h -o json',
      'fleetgc audit report --part dry-run',
      'fleetgc audit report --from 2026-01-01 --to 2026-02-01 -o html > january.html',
    ],
  },
  'audit archive': {
    text: 'Goes on where the archive ends, up to the present end of the log; each record is in it once, also when a run was killed. Run it at least every few hours, or let it run on with --follow: disk statistics and orders stay on the log for a day. What was deleted before it was archived is noted in the archive as a gap.\n\nWith --follow it warns, in its log and at /readyz, when what waits to be archived may be older than half of the time for which its topic is kept, and says how long is left.\n\nThe last line is the head of the archive. Kept somewhere else, it proves to "audit archive check --head" that nothing before it was changed or removed since.\n\nExit codes: 0 archived, or told to stop, 1 failed, or records were lost (with --follow these end nothing), 2 wrong options.',
    examples: [
      'fleetgc audit archive --to /srv/fleetgc-archive --kafka-brokers kafka:9092',
      'fleetgc audit archive --to archive --log embedded',
      'fleetgc audit archive --follow --to /srv/fleetgc-archive --every 1h --kafka-brokers kafka:9092',
    ],
  },
  'audit archive check': {
    text: 'Reads every file of the archive and compares it with the manifest, whose lines are chained by their hashes. Somebody who may write to the archive can make a chain of his own, or cut off its end: only a head that was noted elsewhere shows that.\n\nExit codes: 0 as it was written, 1 a deviation, 2 wrong options.',
    examples: [
      'fleetgc audit archive check --archive /srv/fleetgc-archive',
      'fleetgc audit archive check --archive /srv/fleetgc-archive --head "$(cat noted-head)"',
    ],
  },
  'audit query': {
    text: 'The view records has every record as it lay on the log. The views inventory, disk_stats, observe, decisions, commands, results, policies, policy_versions and dead_letters have the event as JSON. Only the archive can be read, and nothing written. The files of the views that the query names are compared with the manifest first.',
    examples: [
      'fleetgc audit query "SELECT topic, count(*) FROM records GROUP BY topic" --archive /srv/fleetgc-archive',
      "fleetgc audit query \"SELECT time, key, event->'result'->>'outcome' AS outcome FROM results WHERE event->>'type' = 'fleetgc.node.object-result'\" --archive /srv/fleetgc-archive -o ndjson",
    ],
  },
  'dead-letters list': {
    text: 'A consumer that cannot process a message keeps it as a dead letter and goes on. At most 10 per minute and key are kept; more are counted.',
    examples: [
      'fleetgc dead-letters list --since 24h',
      'fleetgc dead-letters list --cause wrong-schema --key prod/web-1',
    ],
  },
  'dead-letters show': {
    examples: [
      'fleetgc dead-letters show dead-letter-3f2a',
      'fleetgc dead-letters show dead-letter-3f2a -o json',
    ],
  },
  'dead-letters redrive': {
    text: 'The message goes back as it was: it is read again where it lies, and must be what the dead letter holds, byte for byte. Only facts about nodes go back, never orders or policies. A note beside the dead letter keeps it from going back a second time by mistake. Ends with exit code 1 where anything is refused.',
    examples: [
      'fleetgc dead-letters redrive dead-letter-3f2a',
      'fleetgc dead-letters redrive --all --topic gc.node.inventory --since 2h --dry-run',
    ],
  },
};

const texts: ReadonlyMap<string, Explanation> = new Map(Object.entries(BY_VERB));

export const explanationOf = (verb: string): Explanation => texts.get(verb) ?? { examples: [] };
