// Colours for code. It is told apart by a few patterns for each family of languages: comments, strings, numbers, keywords and
// names. Each pattern takes linear time on any input: no two parts of a pattern that repeat can match the same characters, and
// a pattern that may fail late begins only where it cannot begin again at the next character.

import { el } from './element.js';

const longest = 40_000; // characters; longer code stays plain

const end = '(?![^])'; // of the text: "$" is that of a line
const quoted = (mark, inside = '[^\\n]') => `${mark}(?:(?!${mark}|\\\\)${inside}|\\\\[^])*(?:${mark})?`;
const text = {
  double: quoted('"'),
  single: quoted("'"),
  long: (mark) => `${mark}(?:(?!${mark}|\\\\)[^]|\\\\[^])*(?:${mark}|\\\\?${end})`,
  character: "'(?:[^'\\\\\\n]|\\\\[^\\n][\\w{}]{0,10})'", // and no lifetime of Rust
};
const slashes = `//.*|/\\*[^]*?(?:\\*/|${end})`;
const hash = '(?<![^\\s;(])#.*';
const number = '(?<![\\w.])(?:0[xXbBoO][\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)\\w*';
const name = '[A-Za-z_$][\\w$]*(?=\\()|(?<![\\w$])@[\\w.]+';
const words = (list) => new Set(list.split(' '));

const c = 'auto break case const continue default do else enum extern for goto if inline register return sizeof static struct switch typedef union volatile while void char short int long float double signed unsigned bool true false NULL';
const java = 'abstract assert boolean break byte case catch char class const continue default do double else enum extends final finally float for if implements import instanceof int interface long native new null package private protected public record return short static super switch synchronized this throw throws transient true try false var void volatile while';
const script = 'as async await break case catch class const continue debugger default delete do else export extends false finally for from function get if import in instanceof let new null of return set static super switch this throw true try typeof undefined var void while with yield abstract any boolean declare enum implements interface keyof namespace never number private protected public readonly string type unknown';

// A family: the patterns of its tokens, the first that matches counts, and its keywords.
const families = [
  ['go', { comment: slashes, string: [text.double, '`[^`]*`?', text.character], number, name },
    words('break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var any bool byte error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr true false nil iota')],
  ['js javascript mjs cjs jsx ts typescript tsx', { comment: slashes, string: [text.double, text.single, text.long('`')], number, name }, words(script)],
  ['c h cpp c++ cc hpp objc arduino', { comment: slashes, keyword: '^[ \\t]*#[ \\t]*\\w+', string: [text.double, text.character], number, name },
    words(`${c} alignas auto catch class concept constexpr consteval decltype delete explicit export final friend import module mutable namespace new noexcept nullptr operator override private protected public requires static_assert template this throw try typename using virtual`)],
  ['java kotlin kt kts scala groovy gradle dart cs csharp c#', { comment: slashes, string: [text.long('"""'), text.double, text.character], number, name },
    words(`${java} as async await base by companion data decimal def delegate event foreach fun get given in init inline internal is lateinit let lock match namespace object open out override readonly ref sealed set string struct suspend trait typealias using val when where with yield`)],
  ['rust rs', { comment: slashes, string: [text.long('"'), text.character], number, name: `${name}|\\b\\w+!(?=[(\\[{ ])` },
    words('as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type union unsafe use where while bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize Option Result Some None Ok Err String Vec Box')],
  ['swift', { comment: slashes, string: [text.long('"""'), text.double], number, name },
    words('actor any as associatedtype async await break case catch class continue default defer deinit do else enum extension fallthrough false fileprivate final for func get guard if import in init inout internal is lazy let nil open operator override private protocol public repeat rethrows return self Self set some static struct subscript super switch throw throws true try typealias var weak where while')],
  ['php', { comment: `${slashes}|${hash}`, string: [text.double, text.single], name: `\\$\\w+|${name}`, number },
    words('abstract and array as bool break callable case catch class clone const continue declare default do echo else elseif empty enum extends false final finally fn for foreach function global if implements include instanceof int interface isset match namespace new null or private protected public readonly require require_once return self static string switch this throw trait true try unset use var void while yield')],
  ['py python python3 starlark bzl', { comment: hash, string: [text.long('"""'), text.long("'''"), text.double, text.single], number, name },
    words('and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield')],
  ['rb ruby elixir ex exs crystal', { comment: hash, string: [text.double, text.single], name: `(?<![\\w:]):\\w+|${name}`, number },
    words('alias and begin break case class def defined do else elsif end ensure false for if in module next nil not or raise redo require rescue retry return self super then true undef unless until when while yield defmodule defp fn use with')],
  ['sh bash shell zsh fish console shellsession shell-session terminal', { comment: hash, string: [text.long('"'), "'[^']*'?"], name: '\\$(?:\\w+|[@#?*!$-])|\\$\\{\\w+', number: '(?<![\\w./-])\\d+(?![\\w.])' },
    words('if then elif else fi for while until do done case esac in function select return exit break continue export local readonly declare unset set shift source alias cd echo eval exec trap sudo true false')],
  ['lua', { comment: `--\\[\\[[^]*?(?:\\]\\]|${end})|--.*`, string: [text.double, text.single, `\\[\\[[^]*?(?:\\]\\]|${end})`], number, name },
    words('and break do else elseif end false for function goto if in local nil not or repeat return then true until while')],
  ['hs haskell elm', { comment: `--.*|\\{-[^]*?(?:-\\}|${end})`, string: [text.double, text.character], number },
    words('case class data default deriving do else foreign if import in infix infixl infixr instance let module newtype of then type where')],
  ['r perl pl julia jl', { comment: hash, string: [text.double, text.single], name: `[$@%]\\w+|${name}`, number },
    words('and break do else elsif elseif end false FALSE for foreach function if in last local my next NULL NA or our package print repeat return struct sub then true TRUE undef unless until use using while begin const global import let module')],
  ['sql mysql postgresql postgres sqlite plsql', { comment: `--.*|/\\*[^]*?(?:\\*/|${end})`, string: [quoted("'", '[^]')], number, name: '[A-Za-z_]\\w*(?=\\()' },
    words('add all alter analyze and any as asc begin between by case cast check column commit constraint create cross database default delete desc distinct drop else end except exists explain false foreign from full function grant group having if in index inner insert intersect into is join key left like limit not null offset on or order outer over partition primary references replace returning right rollback select set table then transaction trigger true union unique update using values view when where with integer int text varchar boolean timestamp date real blob bigint'), 'any case'],
  ['json jsonc json5 jsonl', { comment: slashes, name: '"(?:[^"\\\\\\n]|\\\\.)*"(?=[ \\t]*:)', string: [text.double], number: `-?${number}` }, words('true false null')],
  ['yaml yml', { comment: hash, name: '^(?:[ \\t]*- )*[ \\t]*[\\w"\'][\\w./"\'-]*(?=:(?:\\s|$))', string: [text.double, text.single], number: '(?<=[:\\[,-] )[+-]?\\d[\\d.]*(?=[ \\t]*(?:$|[,\\]#]))' }, words('true false null yes no on off')],
  ['toml ini properties conf cfg env dotenv hcl tf terraform nix editorconfig', { comment: `${slashes}|${hash}|^;.*`, keyword: '^[ \\t]*\\[{1,2}[^\\][\\n]*\\]+', name: '^[ \\t]*[A-Za-z_][\\w.-]*(?=[ \\t]*=)|(?<!\\w)\\w+(?=\\()', string: [text.long('"""'), text.double, text.single], number },
    words('true false null on off yes no variable resource provider module output data locals for in if')],
  ['dockerfile docker containerfile', { comment: hash, string: [text.double, text.single], keyword: '^(?:FROM|RUN|CMD|LABEL|EXPOSE|ENV|ADD|COPY|ENTRYPOINT|VOLUME|USER|WORKDIR|ARG|ONBUILD|STOPSIGNAL|HEALTHCHECK|SHELL)(?=\\s)', name: '\\$\\{?\\w+\\}?' }, words('AS as')],
  ['make makefile', { comment: hash, keyword: '^[.\\w%/-]+(?=:)', name: '\\$[({][\\w.]+[)}]|\\$[@<^*?$]|^\\w+(?=[ \\t]*[:+?]?=)', string: [text.double, text.single] }, words('ifeq ifneq ifdef ifndef else endif include define endef export')],
  ['html xml svg vue svelte xhtml htm plist', { comment: `<!--[^]*?(?:-->|${end})`, keyword: '</?[A-Za-z][\\w:.-]*|<[!?][\\w]+', name: '(?<![\\w:@.-])[\\w:@.-]+(?==["\'])', string: ['(?<==)"[^"]*"?', "(?<==)'[^']*'?"] }, new Set()],
  ['css scss less', { comment: slashes, string: [text.double, text.single], keyword: '@[\\w-]+', number: '#[\\da-fA-F]{3,8}\\b|(?<![\\w-])-?\\d*\\.?\\d+(?:%|\\w*)', name: '(?<![\\w-])[\\w-]+(?=[ \\t]*:[ \\t])|(?<![\\w-])--[\\w-]+' }, new Set()],
  ['diff patch', { keyword: '^(?:@@.*|diff .*|index .*|(?:---|\\+\\+\\+) .*)', added: '^\\+.*', removed: '^-.*' }, new Set()],
  ['proto protobuf graphql gql', { comment: `${slashes}|${hash}`, string: [text.long('"""'), text.double], number, name },
    words('syntax package import option message enum service rpc returns stream oneof repeated optional reserved map extend query mutation subscription fragment on type input interface union scalar schema implements string bytes bool int32 int64 uint32 uint64 double float true false')],
];

const languages = new Map(); // each name → {pattern, keywords, fold}
for (const [names, kinds, keywords, fold] of families) {
  const parts = Object.entries(kinds).map(([kind, pattern]) => `(?<${kind}>${[pattern].flat().join('|')})`);
  // A word is taken whole, so that no pattern begins within it.
  const pattern = new RegExp([...parts, '(?<word>[A-Za-z_$][\\w$]*)'].join('|'), 'gm');
  for (const each of names.split(' ')) languages.set(each, { pattern, keywords, fold: Boolean(fold) });
}

// highlight colours the text of an element of code. All that it makes is text.
export function highlight(code, language) {
  const known = languages.get(language.toLowerCase());
  const source = code.textContent;
  if (!known || source.length > longest) return;
  const parts = [];
  let plain = 0; // where what was not told apart begins
  for (const match of source.matchAll(known.pattern)) {
    const [token] = match;
    const kind = known.keywords.has(known.fold ? token.toLowerCase() : token) ? 'keyword'
      : Object.keys(match.groups).find((each) => match.groups[each] !== undefined);
    if (kind === 'word') continue;
    parts.push(source.slice(plain, match.index), el('span', { className: `code-${kind}` }, token));
    plain = match.index + token.length;
  }
  if (parts.length) code.replaceChildren(...parts.filter(Boolean), source.slice(plain));
}
