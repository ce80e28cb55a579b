const CONTINUED = / *\\\n\s*/g;

/** The commands in the code blocks of a page, each in one line: of a block that shows output too, those after `$ `. */
export function commandsOf(page: string): readonly string[] {
  const blocks = [...page.matchAll(/^ *```(\w*)\n([\s\S]*?)^ *```$/gm)].flatMap(([, language, code]) =>
    NOT_A_FILE.test(language ?? '') && code !== undefined ? [code] : [],
  );
  return blocks.flatMap((block) => {
    const lines = block
      .replace(CONTINUED, ' ')
      .split('\n')
      .map((line) => line.trim());
    const typed = lines.flatMap((line) => (line.startsWith('$ ') ? [line.slice(2)] : []));
    if (typed.length > 0) return typed;
    return lines.some((line) => COMMAND.test(line)) ? lines.filter((line) => line !== '') : [];
  });
}

const COMMAND = /^(fleetgc|kubectl) /;
const NOT_A_FILE = /^(text)?$/;
