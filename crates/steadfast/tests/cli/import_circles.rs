//! No import circle between the files of a crate: what two files share lies below
//! both. Files are parsed, paths are followed through re-exports to the file that
//! has the item; a module that only declares and re-exports needs nothing. Tests
//! may use what they like.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::Visit;

/// The crates in which no circle is allowed.
const CRATES: [&str; 15] = [
    "steadfast", "capture", "domain", "engine", "exchange", "explorer", "host", "procedures",
    "recorder", "report", "runner", "tracefile", "analysis", "workload", "../lab",
];

/// A path in the code, segment by segment.
type CodePath = Vec<String>;

/// A module of a crate.
#[derive(Default)]
struct CodeModule {
    file: PathBuf,
    children: BTreeSet<String>,
    items: BTreeSet<String>,
    /// Paths of the names that `use` imports.
    aliases: BTreeMap<String, CodePath>,
    globs: Vec<CodePath>,
    /// Every path in its code.
    paths: Vec<CodePath>,
}

impl CodeModule {
    /// Returns true if a path can lead out of the module. A single identifier does if it was imported;
    /// otherwise it is a variable or the name of a child.
    fn leads_outside(&self, path: &[String]) -> bool {
        path.len() > 1 || self.aliases.contains_key(&path[0])
    }
}

/// The modules of a crate, by their paths below its root.
#[derive(Default)]
struct ModuleTree(BTreeMap<CodePath, CodeModule>);

/// Goes through a file and fills in the module that it is in.
struct ModuleVisitor<'a> {
    tree: &'a mut ModuleTree,
    at: CodePath,
    /// Directory of the files of child modules.
    children_directory: PathBuf,
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string() == "test",
        meta => meta.path().is_ident("test"),
    })
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name(item: &syn::Item) -> Option<&syn::Ident> {
    Some(match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Macro(item) => item.ident.as_ref()?,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        _ => return None,
    })
}

impl ModuleVisitor<'_> {
    fn module(&mut self) -> &mut CodeModule {
        self.tree.0.entry(self.at.clone()).or_default()
    }
    /// Reads the items of a module at a file, whose children stand in a directory.
    fn read(
        tree: &mut ModuleTree,
        at: CodePath,
        file: &Path,
        children_directory: PathBuf,
        items: &[syn::Item],
    ) {
        let mut reader = ModuleVisitor { tree, at, children_directory };
        reader.module().file = file.to_owned();
        items.iter().for_each(|item| reader.visit_item(item));
    }
    fn read_file(tree: &mut ModuleTree, at: CodePath, file: &Path, children_directory: PathBuf) {
        let text = std::fs::read_to_string(file).unwrap();
        let parsed = syn::parse_file(&text).unwrap_or_else(|why| panic!("{file:?}: {why}"));
        ModuleVisitor::read(tree, at, file, children_directory, &parsed.items);
    }
    /// Adds the names that `use` imports; `own` is false if the file only re-exports them.
    fn add_imports(&mut self, tree: &syn::UseTree, mut before: CodePath, own: bool) {
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.add_imports(&path.tree, before, own);
            }
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.add_imports(tree, before.clone(), own));
            }
            syn::UseTree::Glob(_) => {
                self.module().globs.push(before.clone());
                self.add_import(before, own);
            }
            syn::UseTree::Name(name) => self.alias(before, &name.ident, &name.ident, own),
            syn::UseTree::Rename(name) => self.alias(before, &name.ident, &name.rename, own),
        }
    }
    fn alias(&mut self, mut path: CodePath, of: &syn::Ident, known_as: &syn::Ident, own: bool) {
        let mut known_as = known_as.to_string();
        if known_as == "self" {
            known_as = path.last().cloned().unwrap_or_default();
        }
        if of != "self" {
            path.push(of.to_string());
        }
        self.module().aliases.insert(known_as, path.clone());
        self.add_import(path, own);
    }
    fn add_import(&mut self, path: CodePath, own: bool) {
        if own {
            self.add_path(path);
        }
    }
    fn add_path(&mut self, path: CodePath) {
        if !path.is_empty() {
            self.module().paths.push(path);
        }
    }
    /// Adds the paths in the tokens of a macro, which are not parsed.
    fn add_paths_in_tokens(&mut self, tokens: TokenStream) {
        let (mut path, mut colons) = (CodePath::new(), 0);
        for token in tokens {
            match token {
                TokenTree::Punct(mark) if mark.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.add_path(std::mem::take(&mut path));
                    }
                    path.push(ident.to_string());
                }
                other => {
                    self.add_path(std::mem::take(&mut path));
                    if let TokenTree::Group(group) = other {
                        self.add_paths_in_tokens(group.stream());
                    }
                }
            }
            colons = 0;
        }
        self.add_path(path);
    }
}

impl<'ast> Visit<'ast> for ModuleVisitor<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if is_for_tests(attributes(item)) {
            return;
        }
        if let Some(name) = name(item) {
            self.module().items.insert(name.to_string());
        }
        syn::visit::visit_item(self, item);
    }
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_imports(
            &item.tree,
            CodePath::new(),
            matches!(item.vis, syn::Visibility::Inherited),
        );
    }
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let name = item.ident.to_string();
        self.module().children.insert(name.clone());
        let at = [self.at.clone(), vec![name.clone()]].concat();
        let own = self.children_directory.join(&name);
        match &item.content {
            Some((_, items)) => {
                let file = self.module().file.clone();
                ModuleVisitor::read(self.tree, at, &file, own, items);
            }
            None => {
                let flat = self.children_directory.join(format!("{name}.rs"));
                let file = if flat.exists() { flat } else { own.join("mod.rs") };
                ModuleVisitor::read_file(self.tree, at, &file, own);
            }
        }
    }
    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.add_path(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }
    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.add_paths_in_tokens(item.tokens.clone());
    }
}

impl ModuleTree {
    fn read(source: &Path) -> ModuleTree {
        let mut tree = ModuleTree::default();
        let roots = ["lib.rs", "main.rs"].map(|name| source.join(name));
        let root = roots.iter().find(|root| root.exists()).unwrap();
        ModuleVisitor::read_file(&mut tree, CodePath::new(), root, source.to_owned());
        tree
    }
    /// Returns the module that has the item of a path, seen from a module; `None` if the item is of
    /// another crate.
    fn home<'a>(&'a self, from: &[String], path: &[String], depth: u32) -> Option<&'a CodeModule> {
        let (first, rest) = path.split_first()?;
        let module = &self.0[from];
        match first.as_str() {
            _ if depth > 16 => None,
            "crate" => self.below(&[], rest, depth),
            "self" => self.below(from, rest, depth),
            "super" => {
                let mut at = from[..from.len() - 1].to_vec();
                let mut rest = rest;
                while rest.first().is_some_and(|word| word == "super") {
                    at.pop();
                    rest = &rest[1..];
                }
                self.below(&at, rest, depth)
            }
            name if module.children.contains(name) => self.below(from, path, depth),
            name => {
                let imported = module.aliases.get(name).filter(|path| path.as_slice() != [name])?;
                self.home(from, &[imported.as_slice(), rest].concat(), depth + 1)
            }
        }
    }
    /// Returns the module that has the item of a path below a module.
    fn below<'a>(&'a self, at: &[String], path: &[String], depth: u32) -> Option<&'a CodeModule> {
        let module = &self.0[at];
        let Some((first, rest)) = path.split_first() else { return Some(module) };
        if module.children.contains(first) {
            return self.below(&[at, std::slice::from_ref(first)].concat(), rest, depth);
        }
        if module.items.contains(first) {
            return Some(module);
        }
        if module.aliases.contains_key(first) {
            return self.home(at, path, depth + 1);
        }
        let behind = |glob: &CodePath| {
            self.home(at, &[glob.as_slice(), path].concat(), depth + 1)
                .filter(|home| home.items.contains(first))
        };
        module.globs.iter().find_map(behind).or(Some(module))
    }
    /// Returns the files that each file needs.
    fn dependencies(&self) -> BTreeMap<&Path, BTreeSet<&Path>> {
        let mut dependencies: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
        for (at, module) in &self.0 {
            for path in module.paths.iter().filter(|path| module.leads_outside(path)) {
                let home = self.home(at, path, 0).map(|home| home.file.as_path());
                let other = home.filter(|file| *file != module.file);
                dependencies.entry(&module.file).or_default().extend(other);
            }
        }
        dependencies
    }
}

/// Returns the files of a circle, each of which needs the next.
fn circle<'a>(dependencies: &BTreeMap<&'a Path, BTreeSet<&'a Path>>) -> Option<Vec<&'a Path>> {
    let mut done = BTreeSet::new();
    dependencies.keys().find_map(|file| walk(file, dependencies, &mut Vec::new(), &mut done))
}

fn walk<'a>(
    file: &'a Path,
    dependencies: &BTreeMap<&'a Path, BTreeSet<&'a Path>>,
    path_so_far: &mut Vec<&'a Path>,
    done: &mut BTreeSet<&'a Path>,
) -> Option<Vec<&'a Path>> {
    if let Some(at) = path_so_far.iter().position(|before| *before == file) {
        return Some(path_so_far[at..].to_vec());
    }
    if done.contains(file) {
        return None;
    }
    path_so_far.push(file);
    let next = dependencies.get(file).into_iter().flatten();
    let found = next.into_iter().find_map(|next| walk(next, dependencies, path_so_far, done));
    path_so_far.pop();
    done.insert(file);
    found
}

fn chain(circle: &[&Path], source: &Path) -> String {
    let name = |file: &&Path| file.strip_prefix(source).unwrap_or(file).display().to_string();
    let names: Vec<String> = circle.iter().chain(circle.first()).map(name).collect();
    names.join(" -> ")
}

fn source_of(crate_name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(crate_name).join("src")
}

#[test]
fn no_two_files_of_a_crate_need_each_other() {
    for name in CRATES {
        let source = source_of(name);
        let tree = ModuleTree::read(&source);
        let dependencies = tree.dependencies();
        let edges: usize = dependencies.values().map(BTreeSet::len).sum();
        assert!(edges > tree.0.len(), "{name}: {edges} edges cannot be all");
        if let Some(circle) = circle(&dependencies) {
            panic!("{name}: an import circle: {}", chain(&circle, &source));
        }
    }
}

/// The top-level module of the binary in which a file lies.
fn top_module<'a>(file: &'a Path, source: &Path) -> &'a Path {
    let first = file.strip_prefix(source).unwrap().iter().next().unwrap();
    Path::new(Path::new(first).file_stem().unwrap())
}

/// The top-level modules of the binary have an order: none imports, directly or not, what imports it.
#[test]
fn the_binary_has_no_import_circle() {
    let source = source_of("steadfast");
    let tree = ModuleTree::read(&source);
    let mut imports: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
    for (file, others) in tree.dependencies() {
        let module = top_module(file, &source);
        let others = others.into_iter().map(|other| top_module(other, &source));
        imports.entry(module).or_default().extend(others.filter(|other| *other != module));
    }
    assert!(imports[Path::new("commands")].contains(Path::new("cli")));
    assert_eq!(circle(&imports), None, "these import one another");
}

#[test]
fn a_circle_is_found_through_a_re_export_and_not_through_a_declaration() {
    let found = |b: &str| {
        let room = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = room.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("lib.rs", "mod a; mod b; pub use a::A;");
        write("a/mod.rs", "pub mod inner; pub use inner::A; #[cfg(test)] mod tests;");
        write("a/inner.rs", "use crate::b; pub struct A; fn f() { println!(\"{}\", b::B) }");
        write("b.rs", b);
        let tree = ModuleTree::read(room.path());
        circle(&tree.dependencies()).map(|circle| chain(&circle, room.path()))
    };
    assert_eq!(found("pub const B: u8 = 1;"), None);
    assert_eq!(found("pub const B: u8 = 1; #[cfg(test)] use crate::A;"), None);
    assert_eq!(found("pub const B: u8 = 1; pub use crate::A;"), None, "handed on, not needed");
    let circle = Some("a/inner.rs -> b.rs -> a/inner.rs".to_owned());
    assert_eq!(found("use crate::A; pub const B: u8 = 1;"), circle);
    assert_eq!(found("pub const B: u8 = 1; fn f() { dbg!(crate::a::inner::A) }"), circle);
}
