/** Of what a kubelet's processes wrote, its warnings and errors about what it collects. */
const ABOUT_REMOVALS = /garbage|[Rr]emov|DeleteContainer|ImageGC|evict pod/;
/** How it says, twice, that somebody else was about to remove a container when it wanted to. */
const MET =
  /"(?:RemoveContainer from runtime service failed|Failed to remove container)" err="rpc error: code = Unknown desc = failed to set removing state for container \\"(?<met>[0-9a-f]{64})\\": container is already in removing state" containerID="\k<met>"$/;

/**
 * The kubelet's errors about removals, but for the one that docs/operating/install.md promises: of a container that we removed in
 * the same moment.
 */
export const removalErrors = (output: string, removedByUs: ReadonlySet<string>): readonly string[] =>
  output
    .split('\n')
    .filter((line) => /^[EW]\d{4} /.test(line))
    .filter((line) => ABOUT_REMOVALS.test(line))
    .filter((line) => !removedByUs.has(MET.exec(line)?.groups?.met ?? ''));
